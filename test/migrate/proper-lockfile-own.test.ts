/**
 * The tests of proper-lockfile 4.1.2 by their ideas, over `lockPath`. The page lists what differs,
 * and why.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { createLocks } from 'holdfast'
import { embeddedStore, lockPath } from 'holdfast/embedded'
import { afterAll, describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { check, lock, unlock } from './proper-lockfile-shim.js'
import { pass } from './side-by-side.js'

/** Why a test has no counterpart, in the words of the page. */
const DIFFERS = {
  missing: 'A file need not exist, so `lock` and `check` of a missing one succeed.',
  place: 'There is no `<file>.lock`: the state of all files of a folder is in `.holdfast`.',
  fs: 'There is no `fs` to pass in: the calls are those of a database.',
  links: 'Links are always followed: two paths of one file must never both be locked.',
  stale: 'No time decides who is dead: a connection to the holder ends with it.',
  update: 'There is no `update`: the client renews after each third of `ttlMs`.',
  twice: 'A second `release()` resolves as the first one did.',
  thrown: 'A loss never throws by itself: it aborts `lease.signal`, and `run` rejects.',
  synchronous: 'There is no synchronous form: it would stop the renewals.',
  exports: 'The calls have names: there is no default export.',
} as const

type Case = keyof typeof DIFFERS | ((file: string) => unknown)

const CASES: Readonly<Record<string, Readonly<Record<string, Case>>>> = {
  lock: {
    'should be the default export': 'exports',
    'should fail if the file does not exist by default': 'missing',
    'should not fail if the file does not exist and realpath is false': async (file) => {
      rmSync(file)
      await lock(file)
    },
    'should fail if impossible to create the lockfile because directory does not exist': async (
      file,
    ) => {
      await expect(lock(join(`${file}-missing`, 'foo'))).rejects.toMatchObject({
        code: 'STORE_CONFIG',
        message: expect.stringContaining('ENOENT'),
      })
    },
    'should return a promise for a release function': async (file) => {
      expect(await (await lock(file))()).toBe('released')
    },
    'should create the lockfile': 'place',
    'should create the lockfile inside a folder': async (file) => {
      rmSync(file)
      mkdirSync(file)
      await lock(file)
      await expect(lock(`${file}/`)).rejects.toMatchObject({ code: 'ELOCKED' })
      expect(readdirSync(file)).toEqual([])
    },
    'should fail if already locked': async (file) => {
      await lock(file)
      await expect(lock(file)).rejects.toMatchObject({ code: 'ELOCKED' })
    },
    'should fail if mkdir fails for an unknown reason': 'fs',
    'should retry several times if retries were specified': async (file) => {
      const release = await lock(file)
      const waiting = lock(file, { retries: 20 })
      await pass(300)
      await release()
      await (
        await waiting
      )()
    },
    'should use a custom fs': 'fs',
    'should resolve symlinks by default': async (file) => {
      symlinkSync(file, `${file}-bar`)
      await lock(`${file}-bar`)
      for (const path of [file, `${file}-bar`])
        await expect(lock(path)).rejects.toMatchObject({ code: 'ELOCKED' })
    },
    'should not resolve symlinks if realpath is false': 'links',
    'should remove and acquire over stale locks': async (file) => {
      const holder = spawn(
        process.execPath,
        ['--input-type=module', '-e', `${holding(file)}; setInterval(() => {}, 1_000)`],
        {
          cwd: import.meta.dirname,
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      )
      await once(createInterface({ input: holder.stdout }), 'line')
      await expect(lock(file)).rejects.toMatchObject({ code: 'ELOCKED' })
      holder.kill('SIGKILL')
      await once(holder, 'exit')
      // At once, and not ten seconds later.
      await lock(file)
    },
    'should retry if the lockfile was removed when verifying staleness': 'stale',
    'should retry if the lockfile was removed when verifying staleness (not recursively)': 'stale',
    'should fail if stating the lockfile errors out when verifying staleness': 'stale',
    'should fail if removing a stale lockfile errors out': 'stale',
    'should update the lockfile mtime automatically': async (file) => {
      await lock(file, { stale: 2_000 })
      await pass(3_500)
      expect(await check(file)).toBe(true)
    },
    'should set stale to a minimum of 2000': 'stale',
    'should set stale to a minimum of 2000 (falsy)': 'stale',
    'should call the compromised function if ENOENT was detected when updating the lockfile mtime':
      async (file) => {
        const compromised = compromisedOf(file, 1_500)
        await compromised.locked
        // The whole folder: its files are in use.
        renameSync(folderOf(file), `${folderOf(file)}-gone`)
        rmSync(`${folderOf(file)}-gone`, { recursive: true })
        expect(await compromised.error).toMatchObject({ code: 'LOCK_LOST' })
      },
    'should call the compromised function if failed to update the lockfile mtime too many times (stat)':
      'fs',
    'should call the compromised function if failed to update the lockfile mtime too many times (utimes)':
      'fs',
    'should call the compromised function if updating the lockfile took too much time': 'fs',
    'should call the compromised function if lock was acquired by someone else due to staleness':
      async (file) => {
        const compromised = compromisedOf(file, 1_500)
        await compromised.locked
        await steal(file)
        expect(await compromised.error).toMatchObject({ code: 'LOCK_LOST' })
        await lock(file)
      },
    'should throw an error by default when the lock is compromised': 'thrown',
    'should set update to a minimum of 1000': 'update',
    'should set update to a minimum of 1000 (falsy)': 'update',
    'should set update to a maximum of stale / 2': 'update',
    'should not fail to update mtime when we are over the threshold but mtime is ours': 'stale',
    'should call the compromised function when we are over the threshold and mtime is not ours':
      'stale',
    'should allow millisecond precision mtime': 'stale',
    "should allow floor'ed second precision mtime": 'stale',
    "should allow ceil'ed second precision mtime": 'stale',
  },
  unlock: {
    'should fail if the lock is not acquired': async (file) => {
      await expect(unlock(file)).rejects.toMatchObject({ code: 'ENOTACQUIRED' })
    },
    'should return a promise': async (file) => {
      await unlock(file).catch(() => undefined)
    },
    'should release the lock': async (file) => {
      await lock(file)
      await unlock(file)
      await lock(file)
    },
    'should remove the lockfile': async (file) => {
      await lock(file)
      await unlock(file)
      expect(await check(file)).toBe(false)
    },
    'should fail if removing the lockfile errors out': 'fs',
    'should ignore ENOENT errors when removing the lockfile': 'fs',
    'should stop updating the lockfile mtime': async (file) => {
      const release = await lock(file, { stale: 600 })
      await unlock(file)
      const next = lockPath(file, { ttlMs: 600, renew: false })
      const lease = await next.acquire()
      await pass(900)
      // A renewal of the first one would have kept the second one from ending.
      expect([lease.held, await check(file), await release()]).toEqual([false, false, 'released'])
    },
    'should stop updating the lockfile mtime (slow fs)': 'fs',
    'should stop updating the lockfile mtime (slow fs + new lock)': 'fs',
    'should resolve symlinks by default': async (file) => {
      symlinkSync(file, `${file}-bar`)
      await lock(file)
      await unlock(`${file}-bar`)
      expect(await check(file)).toBe(false)
    },
    'should not resolve symlinks if realpath is false': 'links',
    'should use a custom fs': 'fs',
  },
  check: {
    'should fail if the file does not exist by default': 'missing',
    'should not fail if the file does not exist and realpath is false': async (file) => {
      rmSync(file)
      expect(await check(file)).toBe(false)
    },
    'should return a promise': async (file) => {
      await check(file)
    },
    'should resolve with true if file is locked': async (file) => {
      await lock(file)
      expect(await check(file)).toBe(true)
    },
    'should resolve with false if file is not locked': async (file) => {
      expect(await check(file)).toBe(false)
    },
    'should use the custom fs': 'fs',
    'should resolve symlinks by default': async (file) => {
      symlinkSync(file, `${file}-bar`)
      await lock(`${file}-bar`)
      expect([await check(file), await check(`${file}-bar`)]).toEqual([true, true])
    },
    'should not resolve symlinks if realpath is false': 'links',
    'should fail if stating the lockfile errors out when verifying staleness': 'stale',
    'should set stale to a minimum of 2000': 'stale',
    'should set stale to a minimum of 2000 (falsy)': 'stale',
  },
  release: {
    'should release the lock': async (file) => {
      await (
        await lock(file)
      )()
      await lock(file)
    },
    'should remove the lockfile': async (file) => {
      await (
        await lock(file)
      )()
      expect(await check(file)).toBe(false)
    },
    'should fail when releasing twice': 'twice',
  },
  misc: {
    'should always use `options.fs` when calling `fs` methods': 'fs',
    'should remove open locks if the process crashes': async (file) => {
      const crash = `setImmediate(() => { throw new Error('on purpose') })`
      await expect(ended(`${holding(file)}; ${crash}`)).rejects.toThrow('on purpose')
      await lock(file)
    },
    'should not hold the process if it has no more work to do': async (file) => {
      expect(await ended(holding(file))).toBe('held\n')
    },
    'should work on stress conditions': async (file) => {
      let [inside, most, done] = [0, 0, 0]
      const work = async (): Promise<void> => {
        const release = await lock(file, { retries: 30 })
        most = Math.max(most, (inside += 1))
        await pass(1)
        inside -= 1
        done += 1
        await release()
      }
      await Promise.all(Array.from({ length: 100 }, work))
      expect([most, done]).toEqual([1, 100])
    },
  },
  sync: {
    'lockSync should expose a working lockSync': 'synchronous',
    'lockSync should fail if the lock is already acquired': 'synchronous',
    'lockSync should pass options correctly': 'synchronous',
    'lockSync should not allow retries to be passed': 'synchronous',
    'lockSync should fail syncronously if release throws': 'synchronous',
    'unlockSync should expose a working unlockSync': 'synchronous',
    'unlockSync should fail is lock is not acquired': 'synchronous',
    'unlockSync should pass options correctly': 'synchronous',
    'checkSync should expose a working checkSync': 'synchronous',
    'checkSync should fail is file does not exist': 'synchronous',
    'checkSync should pass options correctly': 'synchronous',
  },
}

const around = mkdtempSync(join(tmpdir(), 'holdfast-migrate-'))
let folders = 0

afterAll(async () => {
  // Leases that a case has not released end with this process.
  await pass(0)
  rmSync(around, { recursive: true, force: true })
})

const { sync: _, ...WITH_COUNTERPARTS } = CASES

describe.concurrent.each(Object.entries(WITH_COUNTERPARTS))('%s', (group, cases) => {
  const ported = Object.entries(cases).flatMap(([title, run]) =>
    typeof run === 'function' ? [[title, run] as const] : [],
  )
  test.for(ported)('%s', async ([, run]) => {
    const folder = join(around, `${group}-${(folders += 1)}`)
    mkdirSync(folder)
    const file = join(folder, 'foo')
    writeFileSync(file, '')
    await run(file)
  })
})

test('the page lists what differs, with the number of tests', () => {
  const page = readFileSync(
    new URL('../../docs/migrate/proper-lockfile.md', import.meta.url),
    'utf8',
  )
  const all = Object.values(CASES).flatMap((cases) => Object.values(cases))
  const ported = all.filter((run) => typeof run === 'function').length
  expect(page).toContain(`Of its ${all.length} tests, ${ported} pass through the shim`)
  const rows = Object.entries(DIFFERS).map(([key, reason]) => {
    const count = all.filter((run) => run === key).length
    return new RegExp(`\\| +${count} \\| ${reason.replaceAll(/[()`.*<>?$]/g, '\\$&')} +\\|`)
  })
  for (const row of rows) expect(page).toMatch(row)
})

function folderOf(file: string): string {
  return join(file, '..')
}

/** A program that takes the lock, prints that, and does not release it. */
function holding(file: string): string {
  return `
    import { lockPath } from 'holdfast/embedded'
    const lease = await lockPath(${JSON.stringify(file)}).acquire()
    console.log('held')`
}

/** Runs a program until its end, and returns what it printed. */
async function ended(program: string): Promise<string> {
  const options = { cwd: import.meta.dirname, timeout: 60_000 }
  const args = ['--input-type=module', '-e', program]
  return (await promisify(execFile)(process.execPath, args, options)).stdout
}

function compromisedOf(
  file: string,
  stale: number,
): { readonly locked: Promise<unknown>; readonly error: Promise<unknown> } {
  let locked: Promise<unknown> = Promise.resolve()
  const error = new Promise((resolve) => {
    locked = lock(file, { stale, onCompromised: resolve })
  })
  return { locked, error }
}

async function steal(file: string): Promise<void> {
  const { lock: name } = await lockPath(file).inspect()
  const locks = createLocks(embeddedStore({ directory: join(folderOf(file), '.holdfast') }))
  await locks.steal(name, { reason: 'a test', now: true })
  await locks.close()
  await eventually('it is free', async () => !(await check(file)))
}
