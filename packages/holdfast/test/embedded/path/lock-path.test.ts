/** Which paths are one lock, and what stands beside them. */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createLocks, LockUsageError, StoreUnavailableError, type Lease } from 'holdfast'
import { lockPath } from 'holdfast/embedded'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { after, makeDirectory } from '../support/world.js'

describe('one lock', () => {
  test('for all paths of a file: links, dots, slashes, relative ones and URLs', async () => {
    const folder = makeDirectory()
    mkdirSync(join(folder, 'a', 'b'), { recursive: true })
    const file = join(folder, 'a', 'file')
    writeFileSync(file, '')
    symlinkSync(join(folder, 'a', 'b'), join(folder, 'deep'))
    symlinkSync('a', join(folder, 'shallow'))
    symlinkSync('../file', join(folder, 'a', 'b', 'link'))
    symlinkSync(join(folder, 'deep', 'link'), join(folder, 'chain'))
    await holding(file)
    const paths = [
      `${folder}/a/./b/../file`,
      `${folder}/shallow/file`,
      // To the system this is the folder around `b`, and not the one around `deep`.
      `${folder}/deep/../file`,
      `${folder}/a//file`,
      `${folder}/deep/link`,
      `${folder}/chain`,
      relative(process.cwd(), file),
      pathToFileURL(file),
    ]
    for (const path of paths) expect([path, await isFree(path)]).toEqual([path, false])
    expect(await isFree(join(folder, 'file'))).toBe(true)
  })

  test('for a folder, with and without a slash', async () => {
    const folder = makeDirectory()
    mkdirSync(join(folder, 'a'))
    symlinkSync('a', join(folder, 'link'))
    await holding(join(folder, 'a'))
    for (const path of ['a/', 'a/.', 'link', 'link/', 'a/../a'])
      expect([path, await isFree(`${folder}/${path}`)]).toEqual([path, false])
    expect(await isFree(join(folder, 'a', 'file'))).toBe(true)
  })

  test('before the file exists, after another one replaced it, and after it was deleted', async () => {
    const folder = makeDirectory()
    const file = join(folder, 'file')
    symlinkSync('file', join(folder, 'dangling'))
    await holding(file)
    expect(await isFree(join(folder, 'dangling'))).toBe(false)
    writeFileSync(file, 'one')
    expect(await isFree(file)).toBe(false)
    writeFileSync(join(folder, 'new'), 'two')
    renameSync(join(folder, 'new'), file)
    expect(await isFree(file)).toBe(false)
    rmSync(file)
    expect(await isFree(file)).toBe(false)
  })

  test('stays with a relative path when the working folder changes', async () => {
    const [before, folder, other] = [process.cwd(), makeDirectory(), makeDirectory()]
    after(() => process.chdir(before))
    process.chdir(folder)
    const lock = lockPath('file')
    process.chdir(other)
    const lease = await lock.acquire()
    after(() => lease.release())
    expect(await isFree(join(folder, 'file'))).toBe(false)
    expect(readdirSync(other)).toEqual([])
  })

  test('for names with any characters, up to the longest one', async () => {
    const folder = makeDirectory()
    const names = ['a\nb', '100%', '100%25', '%0A', ' ', 'é', 'e\u0301', 'x'.repeat(255)]
    // Each control character takes several in the name of the lock.
    names.push('\u0001'.repeat(255), `${'\u0001'.repeat(254)}\u0002`, '.holdfast', '...')
    for (const name of names) {
      const lease = await holding(join(folder, name))
      expect(lease.name).not.toMatch(/\p{Cc}/u)
    }
    for (const name of names) {
      writeFileSync(join(folder, name === '.holdfast' ? 'unused' : name), '')
      expect([name, await isFree(join(folder, name))]).toEqual([name, false])
    }
  })
})

describe('another lock', () => {
  test('for hard links, and for names that differ in case', async () => {
    const folder = makeDirectory()
    const file = join(folder, 'file')
    writeFileSync(file, '')
    linkSync(file, join(folder, 'second'))
    await holding(file)
    expect(await isFree(join(folder, 'second'))).toBe(true)
    expect(await isFree(join(folder, 'FILE'))).toBe(true)
  })

  test('for a copy of the folder with its state', async () => {
    const folder = makeDirectory()
    mkdirSync(join(folder, 'a'))
    await holding(join(folder, 'a', 'file'))
    execFileSync('cp', ['-a', join(folder, 'a'), join(folder, 'b')])
    expect(await isFree(join(folder, 'b', 'file'))).toBe(true)
  })
})

test('readers share, a writer excludes, waits, and may go on as a reader', async () => {
  const lock = lockPath(join(makeDirectory(), 'file'))
  const [one, two] = [await lock.read.acquire(), await lock.read.acquire()]
  expect(await lock.tryAcquire()).toBeUndefined()
  const writer = lock.acquire({ waitMs: 20_000 })
  await eventually('the writer waits', async () => (await lock.inspect()).waiters.length === 1)
  expect(await lock.read.tryAcquire()).toBeUndefined()
  await Promise.all([one.release(), two.release()])
  const lease = await writer
  expect(lease.token).toBeGreaterThan(two.token)
  await lease.downgrade()
  expect(await lock.read.run((reader) => reader.held)).toBe(true)
  await lease.release()
})

test('a lease is lost when it is stolen, passed on by its handle, and shown by inspect', async () => {
  const lock = lockPath(join(makeDirectory(), 'file'), { ttlMs: 20_000 })
  const first = await lock.acquire()
  expect((await lock.inspect()).holders).toMatchObject([{ owner: { pid: process.pid } }])
  const second = await lock.adopt(await first.export())
  expect([first.held, second.held, second.token > first.token]).toEqual([false, true, true])
  expect(second.remainingMs).toBeLessThan(20_001)
  await second.release()
  expect((await lock.inspect()).holders).toEqual([])
})

test('callers of one process keep their order, those that open the folder included', async () => {
  const lock = lockPath(join(makeDirectory(), 'file'))
  const order: number[] = []
  await Promise.all([1, 2, 3, 4].map(async (caller) => lock.run(() => void order.push(caller))))
  expect(order).toEqual([1, 2, 3, 4])
})

test('a nested run is refused, and enters where the lock is reentrant', async () => {
  const file = join(makeDirectory(), 'file')
  await expect(lockPath(file).run(() => lockPath(file).run(() => 1))).rejects.toThrow(
    LockUsageError,
  )
  const lock = lockPath(file, { reentrant: true })
  expect(await lock.run(() => lock.run(() => 'inside'))).toBe('inside')
})

test.each([
  ['', /needs the path of a file or folder, not ""/],
  ['a\0b', /needs the path/],
  [7, /takes a string or a file: URL, not 7/],
  [undefined, /not undefined/],
  [new URL('https://example.org/'), /takes a file: URL/],
])('lockPath(%j) is refused at once', (path, message) => {
  expect(() => lockPath(path as string)).toThrow(LockUsageError)
  expect(() => lockPath(path as string)).toThrow(message)
})

test('other locks do not take it as one of theirs', async () => {
  const locks = createLocks(memoryStore())
  const path = lockPath(join(makeDirectory(), 'file'))
  expect(() => locks.multi([path])).toThrow(LockUsageError)
  const refused = locks.transaction(path, undefined as never, async () => 1)
  await expect(refused).rejects.toThrow('is a lock of another store')
})

test('options are checked at once', () => {
  const misspelt = { ttl: 5 } as object
  expect(() => lockPath('a', misspelt)).toThrow(/no option "ttl" for lockPath.*ttlMs/)
  expect(() => lockPath('a', { ttlMs: 1 })).toThrow('ttlMs must be at least 50 ms')
})

test.each([
  ['/', /is the root, and no folder is around it/],
  ['/proc', /something is mounted there/],
  ['/no/such/folder/file', /ENOENT.*no such file or directory/],
  ['/dev/null/file', /ENOTDIR/],
  [`/tmp/${'x'.repeat(256)}`, /ENAMETOOLONG/],
])('a path without a folder of its own is refused: %s', async (path, message) => {
  const failure = await lockPath(path)
    .tryAcquire()
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(StoreUnavailableError)
  expect(failure).toMatchObject({ code: 'STORE_CONFIG', message: expect.stringMatching(message) })
})

test('links without an end are refused', async () => {
  const folder = makeDirectory()
  symlinkSync('one', join(folder, 'two'))
  symlinkSync('two', join(folder, 'one'))
  await expect(lockPath(join(folder, 'one')).acquire()).rejects.toThrow('it has too many links')
})

describe.skipIf(process.platform !== 'linux')('a folder that moves', () => {
  test('keeps the lock when it is renamed, also beside a new folder of its old name', async () => {
    const folder = makeDirectory()
    const [old, moved] = [join(folder, 'old'), join(folder, 'moved')]
    mkdirSync(old)
    const lease = await holding(join(old, 'file'))
    renameSync(old, moved)
    mkdirSync(old)
    expect(await isFree(join(moved, 'file'))).toBe(false)
    const other = await lockPath(join(old, 'file')).acquire()
    await lease.renew()
    await other.renew()
    expect(await isFree(join(moved, 'file'))).toBe(false)
    expect(await isFree(join(old, 'file'))).toBe(false)
    expect(await other.release()).toBe('released')
    expect(await lease.release()).toBe('released')
    expect(await isFree(join(moved, 'file'))).toBe(true)
  })

  test('that is deleted ends the lease at its deadline, and is free when it is made again', async () => {
    const folder = join(makeDirectory(), 'folder')
    mkdirSync(folder)
    const lease = await lockPath(join(folder, 'file'), { ttlMs: 1_500 }).acquire()
    rmSync(folder, { recursive: true })
    await expect(lease.renew()).rejects.toThrow(/was deleted while this process used it/)
    mkdirSync(folder)
    expect(await isFree(join(folder, 'file'))).toBe(true)
    await eventually('the lease is lost', () => lease.signal.aborted)
  })

  test('may have a path that is too long for a socket', async () => {
    const folder = join(makeDirectory(), 'x'.repeat(100), 'y'.repeat(100))
    mkdirSync(folder, { recursive: true })
    await holding(join(folder, 'file'))
    expect(await isFree(join(folder, 'file'))).toBe(false)
    expect(bootOf(folder)).toContain('s')
  })
})

test('all paths of a folder share one store, which is closed when none is used', async () => {
  const folder = makeDirectory()
  const leases = await Promise.all(
    Array.from({ length: 50 }, (_, index) => lockPath(join(folder, String(index))).acquire()),
  )
  const boot = join(folder, '.holdfast', bootName(folder))
  expect(readdirSync(join(boot, 's'))).toHaveLength(1)
  await Promise.all(leases.map((lease) => lease.release()))
  await eventually('its socket is gone', () => readdirSync(join(boot, 's')).length === 0)
  if (process.platform !== 'linux') return
  await eventually('its folder is closed', () => !openFiles().includes(boot))
  expect(await isFree(join(folder, '1'))).toBe(true)
})

test('a look makes no folder', async () => {
  const folder = makeDirectory()
  const { holders, waiters } = await lockPath(join(folder, 'file')).inspect()
  expect([holders, waiters]).toEqual([[], []])
  expect(readdirSync(folder)).toEqual([])
})

test('git does not see the state', async () => {
  const folder = makeDirectory()
  execFileSync('git', ['init', '-q', folder])
  await holding(join(folder, 'file'))
  expect(readFileSync(join(folder, '.holdfast', '.gitignore'), 'utf8')).toBe('*\n')
  const status = execFileSync('git', ['-C', folder, 'status', '--porcelain'], { encoding: 'utf8' })
  expect(status).toBe('')
  expect(existsSync(join(folder, '.holdfast'))).toBe(true)
})

async function holding(path: string): Promise<Lease> {
  const lease = await lockPath(path).acquire()
  after(() => lease.release())
  return lease
}

async function isFree(path: string | URL): Promise<boolean> {
  const lease = await lockPath(path).tryAcquire()
  await lease?.release()
  return lease !== undefined
}

function bootName(folder: string): string {
  const names = readdirSync(join(folder, '.holdfast')).filter((name) => name !== '.gitignore')
  expect(names).toHaveLength(1)
  return names[0] as string
}

function bootOf(folder: string): string[] {
  return readdirSync(join(folder, '.holdfast', bootName(folder)))
}

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
}
