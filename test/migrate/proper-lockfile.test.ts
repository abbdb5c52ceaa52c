/** proper-lockfile, side by side with Holdfast. */
import { createLocks } from 'holdfast'
import { embeddedStore, lockPath, type PathLock } from 'holdfast/embedded'
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check, lock as lockFile, unlock } from 'proper-lockfile'
import { afterAll, beforeAll } from 'vitest'
import { aborted, pass, sideBySide, succeeds } from './side-by-side.js'

let folder: string
let names = 0
const open: (() => Promise<void>)[] = []

const lock: typeof lockFile = async (file, options) => {
  const release = await lockFile(file, options)
  open.push(release)
  return release
}

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-migrate-')))
})
afterAll(async () => {
  // Some samples keep their lock, whose renewal throws when the folder is gone.
  await Promise.allSettled(open.map((release) => release()))
  rmSync(folder, { recursive: true, force: true })
})

function fresh(): string {
  const file = join(folder, `file-${(names += 1)}`)
  writeFileSync(file, '')
  return file
}

sideBySide(
  'proper-lockfile',
  {
    '`lock(file)`: a release function': {
      old: async () => {
        const [file, link] = linked()
        const release = await lock(link)
        const busy = !(await succeeds(() => lock(file)))
        await release()
        return busy
      },
      ours: async () => {
        const [file, link] = linked()
        const lease = await lockPath(link).acquire()
        const busy = (await lockPath(file).tryAcquire()) === undefined
        await lease.release()
        return busy
      },
    },
    '`await release()`': {
      old: async () => {
        const file = fresh()
        await (
          await lock(file)
        )()
        const release = await lock(file)
        await release()
        return check(file)
      },
      ours: async () => {
        const path = lockPath(fresh())
        await (await path.acquire()).release()
        const lease = await path.acquire()
        await lease.release()
        return (await path.inspect()).holders.length > 0
      },
    },
    '`unlock(file)` by another part of the program': {
      old: async () => {
        const file = fresh()
        await lock(file)
        await unlock(file)
        return check(file)
      },
      ours: async () => {
        const path = lockPath(fresh())
        const handle = await (await path.acquire()).export()
        await (await path.adopt(handle)).release()
        return (await path.inspect()).holders.length > 0
      },
    },
    '`check(file)`': {
      old: async () => {
        const file = fresh()
        const release = await lock(file)
        const held = await check(file)
        await release()
        return [held, await check(file)]
      },
      ours: async () => {
        const path = lockPath(fresh())
        const lease = await path.acquire()
        const held = (await path.inspect()).holders.length > 0
        await lease.release()
        return [held, (await path.inspect()).holders.length > 0]
      },
    },
    '`retries: 5`': {
      old: async () => {
        const file = fresh()
        const release = await lock(file)
        const waiting = lock(file, { retries: { retries: 50, minTimeout: 20, maxTimeout: 20 } })
        await release()
        return succeeds(() => waiting)
      },
      ours: async () => {
        const path = lockPath(fresh())
        const lease = await path.acquire()
        const waiting = path.acquire({ waitMs: 5_000 })
        await lease.release()
        return succeeds(() => waiting)
      },
    },
    '`retries: 0` (the default), `ELOCKED`': {
      old: async () => {
        const file = fresh()
        await lock(file)
        const failed: unknown = await lock(file).catch((error: unknown) => error)
        return (failed as NodeJS.ErrnoException).code === 'ELOCKED'
      },
      ours: async () => {
        const path = lockPath(fresh())
        await path.acquire()
        return (await path.tryAcquire()) === undefined
      },
    },
    '`stale` (10 s), `update` (half of it)': {
      old: async () => {
        const file = fresh()
        const release = await lock(file, { stale: 2_000, update: 1_000 })
        await pass(2_500)
        const held = await check(file, { stale: 2_000 })
        await release()
        return held
      },
      ours: async () => {
        const lease = await lockPath(fresh()).acquire({ ttlMs: 2_000 })
        await pass(2_500)
        const { held } = lease
        await lease.release()
        return held
      },
    },
    '`onCompromised`': {
      old: async () => {
        const file = fresh()
        const lost = new AbortController()
        await lock(file, { stale: 2_000, update: 1_000, onCompromised: () => lost.abort() })
        rmSync(`${file}.lock`, { recursive: true })
        return aborted(lost.signal)
      },
      ours: async () => {
        const path = lockPath(fresh(), { ttlMs: 2_000 })
        const lease = await path.acquire()
        await steal(path)
        return aborted(lease.signal)
      },
    },
    '`lockfilePath`': {
      old: async () => {
        const [file, lockfilePath] = [fresh(), join(folder, 'named')]
        await lock(file, { lockfilePath })
        return !(await succeeds(() => lock(file, { lockfilePath })))
      },
      ours: async () => {
        const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))
        const mutex = locks.mutex('named')
        await mutex.acquire()
        const busy = (await mutex.tryAcquire()) === undefined
        await locks.close()
        return busy
      },
    },
    '`realpath`, `fs`': {
      old: async () => succeeds(() => lock(join(folder, 'missing'), { realpath: false })),
      ours: async () => succeeds(() => lockPath(join(folder, 'missing')).acquire()),
    },
  },
  { '`lockSync`, `unlockSync`, `checkSync`': 'left out on purpose, which the page says' },
)

/** A file and a symbolic link to it. */
function linked(): readonly [file: string, link: string] {
  const file = fresh()
  symlinkSync(file, `${file}-link`)
  return [file, `${file}-link`]
}

async function steal(path: PathLock): Promise<void> {
  const { lock: name } = await path.inspect()
  const locks = createLocks(embeddedStore({ directory: join(folder, '.holdfast') }))
  await locks.steal(name, { reason: 'a test', now: true })
  await locks.close()
}
