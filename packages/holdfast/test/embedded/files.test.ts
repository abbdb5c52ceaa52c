/** Several database files in one folder, and what a stopped writer blocks. */
import { inspectPage } from 'holdfast/internal'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { StoreUnavailableError } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import {
  after,
  closing,
  databaseOf,
  databasesIn,
  FILES,
  makeClaim,
  makeDirectory,
  neighbourOf,
  openRaw,
  take,
} from './support/world.js'

test('the locks are spread over all files', async () => {
  const directory = makeDirectory()
  const store = closing(embeddedStore({ directory }))
  for (let index = 0; index < 100; index += 1) await take(store, makeClaim(`lock ${index}`))
  expect(databasesIn(directory)).toHaveLength(FILES)
  const found: string[] = []
  let cursor: string | undefined
  do {
    const page = await inspectPage(store, { prefix: 'lock 1', limit: 5, cursor })
    expect(page.locks.length).toBeLessThanOrEqual(5)
    found.push(...page.locks.map(({ lock }) => lock))
    cursor = page.cursor
  } while (cursor !== undefined)
  const tens = Array.from({ length: 10 }, (_, index) => `lock 1${index}`)
  expect(found.toSorted()).toEqual(['lock 1', ...tens])
})

test('an inspection reads one file in each turn of the event loop', async () => {
  const store = closing(embeddedStore({ directory: makeDirectory() }))
  const names = Array.from({ length: 40 }, (_, index) => `lock ${index}`)
  for (const name of names) await take(store, makeClaim(name))
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  // No holder is of another process, which would be probed in further turns.
  const locks = await store.inspect(names)
  isOver = true
  expect(locks.map(({ lock }) => lock).toSorted()).toEqual(names.toSorted())
  expect(turns).toBeGreaterThanOrEqual(FILES - 1)
})

describe('a process that is stopped in a transaction', () => {
  test('blocks the locks of one file, and the error names it', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    const claim = makeClaim('a')
    await take(store, claim)
    const writer = await stopInTransaction(databaseOf(directory, 'a'))
    const failure = await take(store, makeClaim(neighbourOf('a'))).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StoreUnavailableError)
    const named =
      process.platform === 'linux' ? `process ${writer.pid} (node), which is stopped` : 'Try again'
    expect(String(failure)).toContain(named)
    for (const lock of elsewhere('a')) await take(store, makeClaim(lock))
    writer.process.kill('SIGCONT')
    expect(await store.withdraw(claim)).toBe('released')
  })

  test('blocks no inspection, not even in a new process', async () => {
    const directory = makeDirectory()
    await take(closing(embeddedStore({ directory })), makeClaim('a'))
    await stopInTransaction(databaseOf(directory, 'a'))
    const page = await inspectPage(closing(embeddedStore({ directory })), { limit: 10 })
    expect(page.locks.map(({ lock }) => lock)).toEqual(['a'])
  })
})

test('a database that is a link is refused, and nothing is made where it points', async () => {
  for (const name of ['locks.db', basename(databaseOf(makeDirectory(), 'job'))]) {
    const directory = makeDirectory()
    const target = join(makeDirectory(), 'elsewhere')
    symlinkSync(target, join(directory, name))
    const store = closing(embeddedStore({ directory }))
    await expect(take(store, makeClaim('job'))).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining(`${name} is a link, and must be a file`) as string,
    })
    expect(existsSync(target)).toBe(false)
  }
})

test('a folder with another number of files is refused', async () => {
  const directory = makeDirectory()
  await take(closing(embeddedStore({ directory })), makeClaim('a'))
  const raw = openRaw(join(directory, 'locks.db'))
  raw.exec(`UPDATE facts SET value = '64' WHERE name = 'files'`)
  raw.close()
  const refused = take(closing(embeddedStore({ directory })), makeClaim('b'))
  await expect(refused).rejects.toThrow(
    `keeps its locks in 64 files, and this Holdfast knows ${FILES}`,
  )
})

/** One lock of each other file. */
function elsewhere(lock: string): string[] {
  const found = new Map<string, string>()
  for (let index = 0; found.size < FILES; index += 1)
    found.set(databaseOf('', `lock ${index}`), `lock ${index}`)
  found.delete(databaseOf('', lock))
  return [...found.values()]
}

/** A process that begins to write to a database, and stops. */
async function stopInTransaction(
  path: string,
): Promise<{ process: ReturnType<typeof spawn>; pid: number | undefined }> {
  const program = `
    import { createRequire } from 'node:module'
    const builtIn = process.getBuiltinModule('node:sqlite')
    const { DatabaseSync } = builtIn ?? createRequire(process.cwd() + '/x.js')('@photostructure/sqlite')
    const db = new DatabaseSync(${JSON.stringify(path)})
    process.on('SIGCONT', () => { db.exec('ROLLBACK'); process.exit() })
    db.exec('BEGIN IMMEDIATE')
    console.log('writing')
    process.kill(process.pid, 'SIGSTOP')
    setTimeout(() => process.exit(1), 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => child.kill('SIGKILL'))
  await once(createInterface({ input: child.stdout }), 'line')
  return { process: child, pid: child.pid }
}
