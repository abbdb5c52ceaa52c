/**
 * Folders and files in which no lock can be kept: a typed error that helps, no harm, and work again
 * afterwards.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LockUsageError, StoreUnavailableError } from 'holdfast'
import { diagnose } from '../../dist/stores/embedded/diagnose.js'
import { embeddedStore } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { collectGarbage } from '../support/garbage.js'
import {
  after,
  closing,
  databaseOf,
  makeClaim,
  makeDirectory,
  makeMachine,
  openOn,
  openRaw,
  take,
} from './support/world.js'

const isRoot = process.getuid?.() === 0
const canMount = isRoot && process.platform === 'linux' && tryMount()

if (!canMount) console.log('left out: read-only and full file systems, which only root can mount')

describe('options', () => {
  test('a directory and system: true contradict each other', () => {
    expect(() => embeddedStore({ directory: '/tmp/x', system: true })).toThrow(LockUsageError)
  })

  test.each([
    ['empty', ''],
    ['with a NUL', 'a\0b'],
    ['a number', 7 as unknown as string],
  ])('a directory that is no path: %s', (_, directory) => {
    expect(() => embeddedStore({ directory })).toThrow(LockUsageError)
  })

  test.each([null, 5, '/tmp/locks'])('%s instead of them', async (options) => {
    expect(() => embeddedStore(options as never)).toThrow(LockUsageError)
    await expect(diagnose(options as never)).rejects.toThrow(LockUsageError)
  })

  test.each(['false', 'true', 0, 1, null])(
    '%s is no answer to whether all users take part',
    (system) => {
      expect(() => embeddedStore({ system: system as never })).toThrow(LockUsageError)
    },
  )
})

describe.skipIf(process.platform === 'win32')('without a directory', () => {
  test.skipIf(!isRoot)('an unknown user gets the advice to set HOME', () => {
    expect(openInProcess(undefined, 'process.setgid(54321); process.setuid(54321)')).toMatch(
      /^StoreUnavailableError STORE_CONFIG .*Set HOME, or give the store a directory/,
    )
  })

  test.each(['', 'relative'])('a HOME that is no folder: "%s"', (home) => {
    expect(openInProcess(home)).toMatch(/^StoreUnavailableError STORE_CONFIG .*Set HOME/)
  })
})

/** The files that a store opens for the lock "a". */
const OURS: [what: string, path: (directory: string) => string][] = [
  ['the layout', (directory) => join(directory, 'locks.db')],
  ['the file of the lock', (directory) => databaseOf(directory, 'a')],
]

describe('the file', () => {
  test.each(OURS)(
    'garbage is refused, stays as it is, and the store works once it is away (%s)',
    async (_, pathIn) => {
      const directory = makeDirectory()
      const file = pathIn(directory)
      const garbage = Buffer.alloc(8192, 'This is a diary, not a database. ')
      writeFileSync(file, garbage)
      const store = closing(embeddedStore({ directory }))
      await expectRefusal(
        take(store, makeClaim('a')),
        'STORE_CONFIG',
        /not a database of Holdfast.*Move the file/,
      )
      expect(readFileSync(file)).toEqual(garbage)
      rmSync(file)
      await take(store, makeClaim('a'))
    },
  )

  test('a damaged file of ours is reported as damaged', async () => {
    const directory = makeDirectory()
    const file = databaseOf(directory, 'a')
    const first = embeddedStore({ directory })
    await take(first, makeClaim('a'))
    await first.close()
    const raw = openRaw(file)
    raw.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    raw.close()
    const bytes = readFileSync(file)
    bytes.fill(0xa5, 1024)
    writeFileSync(file, bytes)
    const store = closing(embeddedStore({ directory }))
    await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /damaged/)
    rmSync(file)
    await take(store, makeClaim('a'))
  })

  test('an unreadable row is a typed error, and other locks still work', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    const claim = makeClaim('a')
    await take(store, claim)
    await store.withdraw(claim)
    const raw = openRaw(databaseOf(directory, 'a'))
    raw.exec(`UPDATE locks SET state = 'no json', busy = 1 WHERE name = 'a'`)
    raw.close()
    await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /damaged/)
    await take(store, makeClaim('third'))
  })

  test.each(['delete', 'wal'])(
    'the database of another program is left alone (%s)',
    async (journal) => {
      const directory = makeDirectory()
      const file = join(directory, 'locks.db')
      const raw = openRaw(file)
      raw.exec(
        `PRAGMA journal_mode = ${journal}; CREATE TABLE locks (door TEXT); INSERT INTO locks VALUES ('front')`,
      )
      raw.close()
      const before = readFileSync(file)
      const store = closing(embeddedStore({ directory }))
      await expectRefusal(
        take(store, makeClaim('a')),
        'STORE_CONFIG',
        /another program.*another folder/,
      )
      expect(readFileSync(file)).toEqual(before)
    },
  )

  test.each(OURS)('a newer format is refused and left as it is (%s)', async (_, pathIn) => {
    const directory = makeDirectory()
    const file = pathIn(directory)
    const first = embeddedStore({ directory })
    const claim = makeClaim('a')
    await take(first, claim)
    await first.withdraw(claim)
    await first.close()
    const raw = openRaw(file)
    raw.exec('PRAGMA user_version = 99')
    raw.close()
    const before = readFileSync(file)
    const store = closing(embeddedStore({ directory }))
    await expectRefusal(take(store, makeClaim('a')), 'STORE_FORMAT', /format 99.*Update/)
    expect(readFileSync(file)).toEqual(before)
    const mended = openRaw(file)
    mended.exec('PRAGMA user_version = 1')
    mended.close()
    await take(store, makeClaim('a'))
  })

  test('an empty file is as good as none', async () => {
    const directory = makeDirectory()
    writeFileSync(join(directory, 'locks.db'), '')
    await take(closing(embeddedStore({ directory })), makeClaim('a'))
  })

  test('a folder in the place of the file', async () => {
    const directory = makeDirectory()
    mkdirSync(join(directory, 'locks.db'))
    const store = closing(embeddedStore({ directory }))
    await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /cannot be used/)
    rmSync(join(directory, 'locks.db'), { recursive: true })
    await take(store, makeClaim('a'))
  })
})

describe('the folder', () => {
  test('a file where a folder should be', async () => {
    const file = join(makeDirectory(), 'file')
    writeFileSync(file, 'text')
    for (const directory of [file, join(file, 'below')]) {
      const store = closing(embeddedStore({ directory }))
      await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /cannot be used/)
    }
    expect(readFileSync(file, 'utf8')).toBe('text')
    rmSync(file)
    await take(closing(embeddedStore({ directory: join(file, 'below') })), makeClaim('a'))
  })

  test.skipIf(process.platform !== 'linux')(
    'one below a folder of the kernel, which has no place for it: said at once',
    async () => {
      const store = closing(embeddedStore({ directory: '/proc/holdfast/locks' }))
      await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /cannot be used/)
    },
  )

  test.skipIf(isRoot)('a folder without the right to write', async () => {
    const directory = join(makeDirectory(), 'locked')
    mkdirSync(directory, { mode: 0o500 })
    const store = closing(embeddedStore({ directory }))
    await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /writable/)
    chmodSync(directory, 0o700)
    await take(store, makeClaim('a'))
  })

  test.skipIf(process.platform === 'win32')(
    'a folder that all users may read: its new files are for the owner alone',
    async () => {
      const directory = makeDirectory()
      chmodSync(directory, 0o755)
      const store = closing(embeddedStore({ directory }))
      await take(store, makeClaim('a'))
      const mode = (name: string): string =>
        (statSync(join(directory, name)).mode & 0o777).toString(8)
      const names = readdirSync(directory).toSorted()
      expect(names).toContain('locks.db')
      const modes = names.map((name) => `${name} ${mode(name)}`)
      expect(modes).toEqual(names.map((name) => (name === 's' ? 's 700' : `${name} 600`)))
    },
  )

  test('a path too long for sockets puts them elsewhere, for all stores in the same folder', async () => {
    const directory = join(makeDirectory(), 'long'.repeat(30))
    const holder = closing(embeddedStore({ directory }))
    const waiter = closing(embeddedStore({ directory }))
    const claim = makeClaim('a')
    await take(holder, claim)
    const next = makeClaim('a')
    const granted = new Promise((resolve) => void waiter.watch(next, resolve))
    expect(await waiter.attempt(next, { enqueue: true, tokens: 1 })).toMatchObject({
      outcome: 'waiting',
    })
    await holder.withdraw(claim)
    expect(await granted).toMatchObject({ tokens: 1 })
  })

  test.skipIf(!isRoot)(
    'a folder of sockets that another user made meanwhile is refused',
    async () => {
      const directory = join(makeDirectory(), 'long'.repeat(30))
      const store = closing(embeddedStore({ directory }))
      const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16)
      const sockets = join(tmpdir(), `holdfast-${hash}`)
      after(() => rmSync(sockets, { recursive: true, force: true }))
      mkdirSync(sockets)
      chownSync(sockets, 65_534, 65_534)
      await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /belongs to another user/)
      rmSync(sockets, { recursive: true })
      // A link may lead to a folder of ours, and to another one later.
      symlinkSync(makeDirectory(), sockets)
      await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /belongs to another user/)
      rmSync(sockets)
      await take(store, makeClaim('a'))
    },
  )

  test('a network file system', async () => {
    const directory = makeDirectory()
    const withMachine = { directory, machine: makeMachine({ fileSystemType: () => 0x6969 }) }
    const store = closing(openOn(withMachine))
    await expectRefusal(
      take(store, makeClaim('a')),
      'STORE_CONFIG',
      /network file system \(NFS\).*local disk/,
    )
    await expect(diagnose(withMachine)).rejects.toThrow(/NFS/)
    expect(existsSync(join(directory, 'locks.db'))).toBe(false)
  })
})

describe.skipIf(!canMount)('the file system', () => {
  test('a read-only one without the folder is reported as read-only', async () => {
    const root = mount('size=4m')
    await remount(root, 'ro')
    const store = closing(embeddedStore({ directory: join(root, 'below', 'locks') }))
    await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /EROFS/)
  })

  test('a read-only one, and then not', async () => {
    const directory = mount('size=4m')
    await remount(directory, 'ro')
    const store = closing(embeddedStore({ directory }))
    await expectRefusal(take(store, makeClaim('a')), 'STORE_CONFIG', /cannot be used/)
    await remount(directory, 'rw')
    await take(store, makeClaim('a'))
  })

  test('one that becomes read-only under an existing database', async () => {
    const directory = mount('size=4m')
    const first = embeddedStore({ directory })
    await take(first, makeClaim('a'))
    await first.close()
    await remount(directory, 'ro')
    const store = closing(embeddedStore({ directory }))
    await expectRefusal(take(store, makeClaim('b')), 'STORE_CONFIG', /cannot be used/)
    await remount(directory, 'rw')
    await take(store, makeClaim('b'))
  })

  test('a full one from the start', async () => {
    const directory = mount('size=256k')
    fill(directory)
    const store = closing(embeddedStore({ directory }))
    await expectRefusal(take(store, makeClaim('a')), 'STORE_UNAVAILABLE', /full/)
    rmSync(join(directory, 'ballast'))
    await take(store, makeClaim('a'))
  })

  test('one that fills up: holders keep their locks, and the tokens grow', async () => {
    const directory = mount('size=1m')
    const store = closing(embeddedStore({ directory }))
    const held = makeClaim('held')
    const { token } = await take(store, held)
    fill(directory)
    let failure: unknown
    for (let index = 0; index < 5000 && failure === undefined; index += 1) {
      await take(store, makeClaim(`other ${index}`)).catch((error: unknown) => (failure = error))
    }
    expect(failure).toBeInstanceOf(StoreUnavailableError)
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    rmSync(join(directory, 'ballast'))
    expect(await store.attempt(makeClaim('held'), { enqueue: false, tokens: 1 })).toMatchObject({
      outcome: 'busy',
    })
    expect(await store.withdraw(held)).toBe('released')
    expect((await take(store, makeClaim('held'))).token).toBeGreaterThan(token)
  })
})

/** What a process says that opens the store with this HOME and without a directory. */
function openInProcess(home: string | undefined, before = ''): string {
  const program = `
    import { embeddedStore } from 'holdfast/embedded'
    ${before}
    try {
      embeddedStore()
      console.log('a store')
    } catch (error) {
      console.log(error.name, error.code, error.message)
    }`
  const { HOME: _home, XDG_STATE_HOME: _state, ...env } = process.env
  return spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    env: home === undefined ? env : { ...env, HOME: home },
    encoding: 'utf8',
  }).stdout
}

async function expectRefusal(
  promise: Promise<unknown>,
  code: string,
  message: RegExp,
): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StoreUnavailableError)
  expect(error).toMatchObject({ code, store: 'embedded' })
  expect(String(error)).toMatch(message)
}

function tryMount(): boolean {
  const directory = makeDirectory()
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', directory], { stdio: 'ignore' })
    execFileSync('umount', [directory])
    return true
  } catch {
    return false
  }
}

function mount(options: string): string {
  const directory = makeDirectory()
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory])
  after(() => execFileSync('umount', ['-l', directory]))
  return directory
}

async function remount(directory: string, how: 'ro' | 'rw'): Promise<void> {
  await eventually(`remount ${how}`, () => {
    // The engine for Node 20 closes its files only when its statements are collected.
    collectGarbage()
    return spawnSync('mount', ['-o', `remount,${how}`, directory]).status === 0
  })
}

/** Leaves no free block, and no room for the database to grow. */
function fill(directory: string): void {
  const { bavail, bsize } = statfsSync(directory)
  writeFileSync(join(directory, 'ballast'), Buffer.alloc(bavail * bsize))
}

test('a shortage of descriptors is named, and not taken for a folder without rights', () => {
  const script = `
    import { closeSync, openSync } from 'node:fs'
    import { createLocks } from 'holdfast'
    import { embeddedStore } from 'holdfast/embedded'
    const locks = createLocks(embeddedStore({ directory: process.argv[1] }))
    const opened = []
    try {
      for (;;) opened.push(openSync('/dev/null'))
    } catch {
      closeSync(opened.pop())
    }
    await locks.mutex('a').tryAcquire().catch(({ code, message }) => {
      for (const fd of opened) closeSync(fd)
      console.log(code, message)
    })
    process.exit()
  `
  const command = 'ulimit -n 128; exec "$0" --input-type=module -e "$1" "$2"'
  const { stdout } = spawnSync('sh', ['-c', command, process.execPath, script, makeDirectory()], {
    cwd: import.meta.dirname,
    timeout: 20_000,
  })
  expect(stdout.toString()).toMatch(
    /^STORE_UNAVAILABLE .*this process can open no more files\. Raise the limit/,
  )
})

test.runIf(isRoot)(
  'what root makes in the folder of another user belongs to that user',
  async () => {
    const home = makeDirectory()
    chownSync(home, 4321, 4322)
    const directory = join(home, 'state/holdfast')
    const store = closing(embeddedStore({ directory }))
    await take(store, makeClaim('a'))
    const made = [join(home, 'state'), directory, join(directory, 's'), databaseOf(directory, 'a')]
    for (const path of [...made, join(directory, 'locks.db')]) {
      const { uid, gid } = statSync(path)
      expect([path, uid, gid]).toEqual([path, 4321, 4322])
    }
  },
)
