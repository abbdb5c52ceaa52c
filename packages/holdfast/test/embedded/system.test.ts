/** One folder for all users of the machine: root makes it, and every user takes part. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Store } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import {
  after,
  closing,
  databaseOf,
  FILES,
  makeClaim,
  makeDirectory,
  makeMachine,
  openOn,
  openRaw,
  take,
} from './support/world.js'

/** The user that no file belongs to. */
const PLAIN_USER = 65_534
const canChangeUser = process.platform === 'linux' && process.getuid?.() === 0 && nobodyCanRead()

if (!canChangeUser) console.log('left out: other users, which only root can become')

describe.skipIf(!canChangeUser)('the folder for all users', () => {
  test('is missing: the error for another user names the command for root', async () => {
    const directory = join(makeOpenDirectory(), 'system')
    const answer = await asNobody(
      directory,
      `await store.attempt(claim, { enqueue: false, tokens: 1 })`,
    )
    expect(answer).toMatch(/STORE_CONFIG.*"holdfast doctor --system" as root/)
    expect(existsSync(directory)).toBe(false)
  })

  test('is made by root, and has one lock for both users', async () => {
    const directory = join(makeOpenDirectory(), 'system')
    const store = openSystem(directory)
    const claim = makeClaim('a')
    const { token } = await take(store, claim)
    const mode = (path: string): string =>
      (statSync(join(directory, path)).mode & 0o7777).toString(8)
    const files = readdirSync(directory).filter((name) => name.startsWith('locks'))
    expect(files).toHaveLength(2 * (FILES + 1))
    expect(files.map(mode)).toEqual(files.map(() => '666'))
    expect([mode(''), mode('s')]).toEqual(['755', '1777'])
    expect(files.filter((name) => name.endsWith('-wal'))).toEqual([])

    const attempt = `(await store.attempt(claim, { enqueue: false, tokens: 1 })).outcome`
    expect(await asNobody(directory, attempt)).toBe('busy')
    await store.withdraw(claim)
    const taken = await asNobody(
      directory,
      `String((await store.attempt(claim, { enqueue: false, tokens: 1 })).token)`,
    )
    expect(BigInt(taken)).toBeGreaterThan(token)
    // That process has ended without a release.
    await take(store, makeClaim('a'))
    expect(statSync(`${databaseOf(directory, 'a')}-journal`).uid).toBe(0)
  })

  test('the other user is woken when root releases', async () => {
    const directory = join(makeOpenDirectory(), 'system')
    const store = openSystem(directory)
    const claim = makeClaim('a')
    await take(store, claim)
    const waiter = startAsNobody(
      directory,
      `await new Promise(async (resolve) => {
        store.watch(claim, resolve)
        console.log((await store.attempt(claim, { enqueue: true, tokens: 1 })).outcome)
        setTimeout(resolve, 10_000)
      })
      console.log((await store.attempt(claim, { enqueue: false, tokens: 1 })).outcome)`,
    )
    const lines = createInterface({ input: waiter.stdout })
    const [first] = (await once(lines, 'line')) as [string]
    expect(first).toBe('waiting')
    const releasedMs = performance.now()
    await store.withdraw(claim)
    const [second] = (await once(lines, 'line')) as [string]
    expect(second).toBe('granted')
    expect(performance.now() - releasedMs).toBeLessThan(1000)
  })

  test('what a killed writer left in the journal is undone by another user, who could not make the file again', async () => {
    const directory = join(makeOpenDirectory(), 'system')
    const store = openSystem(directory)
    await take(store, makeClaim('a'))
    await store.close()
    // Its pages are in the file already, and its journal says how they were.
    const writer = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { createRequire } from 'node:module'
        const builtIn = process.getBuiltinModule('node:sqlite')
        const { DatabaseSync } = builtIn ?? createRequire(process.cwd() + '/x.js')('@photostructure/sqlite')
        const db = new DatabaseSync(${JSON.stringify(databaseOf(directory, 'a'))})
        db.exec('PRAGMA journal_mode = persist; PRAGMA cache_size = 5; BEGIN IMMEDIATE; DELETE FROM locks')
        for (let index = 0; index < 500; index += 1)
          db.exec("INSERT INTO locks VALUES ('x" + index + "', '" + 'y'.repeat(500) + "', 0, 0)")
        process.kill(process.pid, 'SIGKILL')`,
      ],
      { cwd: import.meta.dirname },
    )
    expect(writer.signal).toBe('SIGKILL')
    const count = `(await store.inspect(['a'])).map(({ lock }) => lock).join()`
    expect(await asNobody(directory, count)).toBe('a')
    const raw = openRaw(databaseOf(directory, 'a'))
    expect(raw.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    raw.close()
    expect(existsSync(`${databaseOf(directory, 'a')}-journal`)).toBe(true)
  })
})

/** The common folder may be given as a directory, too. */
test.skipIf(process.getuid?.() !== 0)(
  'a directory that is the common one is opened as such',
  async () => {
    const directory = join(makeDirectory(), 'system')
    await take(openSystem(directory), makeClaim('a'))
    const other = closing(
      openOn({ directory, machine: makeMachine({ systemDirectory: directory }) }),
    )
    expect(await other.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })).toMatchObject({
      outcome: 'busy',
    })
    expect(existsSync(`${databaseOf(directory, 'a')}-wal`)).toBe(false)
  },
)

/** Closing a file by hand gives up all locks of the process on it. */
test.skipIf(process.getuid?.() !== 0)(
  'a store that is opened leaves the write lock to the store of this process that has it',
  async () => {
    const directory = join(makeDirectory(), 'system')
    await take(openSystem(directory), makeClaim('a'))
    const file = databaseOf(directory, 'a')
    const writer = openRaw(file)
    writer.exec('BEGIN IMMEDIATE')
    const second = openSystem(directory)
    const pending = second.inspect(['a'])
    // The folder is looked at, and the file opened, in the turn of the call.
    await Promise.resolve()
    expect(canWrite(file)).toBe(false)
    writer.exec('ROLLBACK')
    writer.close()
    expect(await pending).toHaveLength(1)
    expect(canWrite(file)).toBe(true)
  },
)

/** Whether another process gets the lock that writers need. */
function canWrite(file: string): boolean {
  const program = `
    import { createRequire } from 'node:module'
    const builtIn = process.getBuiltinModule('node:sqlite')
    const { DatabaseSync } = builtIn ?? createRequire(process.cwd() + '/x.js')('@photostructure/sqlite')
    const db = new DatabaseSync(${JSON.stringify(file)})
    db.exec('BEGIN IMMEDIATE; ROLLBACK')`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  if (status !== 0) expect(stderr).toContain('database is locked')
  return status === 0
}

function openSystem(directory: string): Store {
  return closing(openOn({ system: true, machine: makeMachine({ systemDirectory: directory }) }))
}

/** A folder that other users can look into. */
function makeOpenDirectory(): string {
  const directory = makeDirectory()
  chmodSync(directory, 0o755)
  return directory
}

function startAsNobody(directory: string, body: string): ReturnType<typeof spawnPiped> {
  const program = `
    import { embeddedStore } from 'holdfast/embedded'
    const machine = { monotonicMs: () => Number(process.hrtime.bigint() / 1000n) / 1000, wallMs: () => Date.now(),
      timer: (ms, fire, background) => {
        const timer = setTimeout(fire, ms)
        if (background) timer.unref()
        return { cancel: () => clearTimeout(timer) }
      },
      bootId: 'a boot', pidNamespace: 'a namespace', systemDirectory: ${JSON.stringify(directory)} }
    const store = embeddedStore({ system: true, machine })
    const claim = { lock: 'a', id: 'plain.1', kind: 'mutex', capacity: 2147483647, weight: 2147483647, ttlMs: 30_000, heartbeatMs: 1000,
      owner: { clientId: 'plain', host: 'h', pid: process.pid } }
    ${body}`
  const child = spawnPiped(program)
  after(() => child.kill('SIGKILL'))
  return child
}

function spawnPiped(program: string) {
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    uid: PLAIN_USER,
    gid: PLAIN_USER,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Returns the value of the expression in a process of a plain user, or the error and its code. */
async function asNobody(directory: string, expression: string): Promise<string> {
  const child = startAsNobody(
    directory,
    `try { console.log(${expression}) } catch (error) { console.log(error.code, String(error)) }`,
  )
  let text = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) text += String(chunk)
  return text.trim()
}

function nobodyCanRead(): boolean {
  const { status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', "import 'holdfast/embedded'"],
    {
      cwd: import.meta.dirname,
      uid: PLAIN_USER,
      gid: PLAIN_USER,
    },
  )
  return status === 0
}
