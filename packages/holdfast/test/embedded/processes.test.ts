/**
 * Several users of one folder: files that vanish, a database that others lock, strangers at the
 * socket, and the end.
 */
import { inspectPage } from 'holdfast/internal'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { StoreUnavailableError } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { Worker } from './support/workers.js'
import { collectGarbage } from '../support/garbage.js'
import { closing, databaseOf, makeClaim, makeDirectory, openRaw, take } from './support/world.js'

const enqueue = { enqueue: true, tokens: 1 }

test('two stores of one process exclude each other, and hand the lock over', async () => {
  const directory = makeDirectory()
  const [one, two] = [closing(embeddedStore({ directory })), closing(embeddedStore({ directory }))]
  const first = makeClaim('a')
  const { token } = await take(one, first)
  const second = makeClaim('a')
  const granted = new Promise<{ token: bigint | undefined } | undefined>((resolve) => {
    two.watch(second, resolve)
  })
  expect(await two.attempt(second, enqueue)).toMatchObject({ outcome: 'waiting' })
  expect(await one.withdraw(first)).toBe('released')
  expect((await granted)?.token).toBeGreaterThan(token)
})

test('a store that is closed leaves the other one alone', async () => {
  const directory = makeDirectory()
  const one = embeddedStore({ directory })
  const two = closing(embeddedStore({ directory }))
  const claim = makeClaim('a')
  await take(two, claim)
  await one.inspect(['a'])
  await one.close()
  expect(await two.withdraw(claim)).toBe('released')
})

test('claims that are withdrawn before the store has opened make no ghosts', async () => {
  const store = closing(embeddedStore({ directory: makeDirectory() }))
  // More than the withdrawals that a lock remembers.
  const claims = Array.from({ length: 10 }, () => makeClaim('a'))
  const attempts = claims.map(async (claim) => store.attempt(claim, enqueue))
  await Promise.all(claims.map(async (claim) => store.withdraw(claim)))
  expect(await Promise.all(attempts)).toEqual(claims.map(() => ({ outcome: 'withdrawn' })))
  expect(await store.inspect(['a'])).toEqual([])
})

test('a deleted file is made again', async () => {
  const directory = makeDirectory()
  const store = closing(embeddedStore({ directory }))
  await take(store, makeClaim('a'))
  for (const name of readdirSync(directory))
    if (name.startsWith('locks')) rmSync(join(directory, name))
  await delay(300) // the file is looked at four times a second
  const claim = makeClaim('a')
  await take(store, claim)
  expect(existsSync(join(directory, 'locks.db'))).toBe(true)
  // Our row is in the new file as well, so that others can tell us.
  const other = closing(embeddedStore({ directory }))
  const waiting = makeClaim('a')
  const granted = new Promise((resolve) => void other.watch(waiting, resolve))
  expect(await other.attempt(waiting, enqueue)).toMatchObject({ outcome: 'waiting' })
  await store.withdraw(claim)
  expect(await granted).toMatchObject({ tokens: 1 })
})

test.skipIf(process.platform === 'win32')(
  'a deleted folder is made again, with the sockets that prove a death',
  async () => {
    const directory = makeDirectory()
    const [holder, store] = [new Worker(directory), closing(embeddedStore({ directory }))]
    await holder.ask('acquire', { lock: 'before' })
    await take(store, makeClaim('of ours'))
    rmSync(directory, { recursive: true })
    await delay(300) // the file is looked at four times a second
    await holder.ask('acquire', { lock: 'a' })
    await take(store, makeClaim('b'))
    expect(readdirSync(join(directory, 's'))).toHaveLength(2)
    // Such a heartbeat is too late to find the death of the holder, whose lease lasts as long.
    const claim = makeClaim('a', { heartbeatMs: 10_000 })
    const granted = new Promise<number>(
      (resolve) => void store.watch(claim, () => resolve(performance.now())),
    )
    expect(await store.attempt(claim, enqueue)).toMatchObject({ outcome: 'waiting' })
    await holder.kill()
    const killedMs = performance.now()
    expect((await granted) - killedMs).toBeLessThan(2000)
  },
)

describe('a database that another process locks', () => {
  test('for a moment: nothing fails, and the event loop runs', async () => {
    const { store, unlock } = await lockedByOther()
    let ticks = 0
    const ticking = setInterval(() => (ticks += 1), 5)
    const pending = Promise.all(
      Array.from({ length: 50 }, (_, index) => take(store, makeClaim(`lock ${index}`))),
    )
    // An engine that waits by itself would block the event loop until its limit, and fail.
    await eventually('the event loop runs', () => ticks > 5)
    clearInterval(ticking)
    unlock()
    expect(await pending).toHaveLength(50)
  })

  test('for longer than the limit: a typed error, and the operation is not done later', async () => {
    const { store, unlock } = await lockedByOther()
    const failure = await take(store, makeClaim('a')).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StoreUnavailableError)
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    unlock()
    expect((await inspectPage(store, { prefix: '', limit: 10 })).locks).toEqual([])
  })

  test('a withdrawal does not overtake the attempt that it undoes, and goes before other claims', async () => {
    const { store, unlock } = await lockedByOther()
    const [first, second] = [makeClaim('a'), makeClaim('a')]
    const answers: Promise<unknown>[] = [
      Promise.resolve(store.attempt(first, enqueue)),
      Promise.resolve(store.attempt(second, { enqueue: false, tokens: 1 })),
      Promise.resolve(store.withdraw(first)),
    ]
    await delay(20)
    unlock()
    expect(await Promise.all<unknown>(answers)).toMatchObject([
      { outcome: 'granted' },
      { outcome: 'busy' },
      'released',
    ])
    // A repeated attempt of the withdrawn claim makes no ghost.
    expect(await store.attempt(first, enqueue)).toEqual({ outcome: 'withdrawn' })
  })
})

test('strangers at the socket are not listened to', async () => {
  const directory = makeDirectory()
  const store = closing(embeddedStore({ directory }))
  const holder = makeClaim('a')
  await take(store, holder)
  const waiting = makeClaim('a')
  const wakes: unknown[] = []
  store.watch(waiting, (grant) => wakes.push(grant))
  await store.attempt(waiting, enqueue)
  const [socket] = readdirSync(join(directory, 's'))
  const messages = [
    'hello\n',
    'null\n{}\n[]\n7\n',
    JSON.stringify([waiting.id]) + '\n',
    JSON.stringify([waiting.id, 'no number', 1, 30_000]) + '\n',
    JSON.stringify([waiting.id, '-5', 1, 30_000]) + '\n',
    JSON.stringify([waiting.id, '99', '1', 30_000]) + '\n',
    JSON.stringify([waiting.id, '99', 1, null]) + '\n',
    JSON.stringify([waiting.id, '99', 1, -1]) + '\n',
    JSON.stringify([{}, '1', 1, 1]) + '\n',
    'x'.repeat(100_000),
  ]
  for (const message of messages) {
    const stranger = connect(join(directory, 's', socket ?? ''))
    const ended = new Promise((resolve) => stranger.once('close', resolve))
    stranger.on('error', () => undefined)
    stranger.end(message)
    await ended
  }
  expect(wakes).toEqual([])
  expect(await store.withdraw(holder)).toBe('released')
  expect(wakes).toHaveLength(1)
})

describe('the end', () => {
  test('close closes files and sockets, and may be called again', async () => {
    const directory = makeDirectory()
    const store = embeddedStore({ directory })
    await take(store, makeClaim('a'))
    const other = embeddedStore({ directory })
    await other.attempt(makeClaim('a'), enqueue)
    for (const one of [store, other, store]) await one.close()
    expect(readdirSync(join(directory, 's'))).toEqual([])
    await expect(take(store, makeClaim('b'))).rejects.toMatchObject({ code: 'LOCKS_CLOSED' })
    if (process.platform !== 'linux') return
    await eventually('the files are closed', () => {
      // The engine for Node 20 closes its files only when its statements are collected.
      collectGarbage()
      return !openFiles().some((path) => path.startsWith(directory))
    })
  })

  test('close right after an attempt leaves no socket', async () => {
    const directory = makeDirectory()
    for (let turns = 0; turns < 12; turns += 1) {
      const store = embeddedStore({ directory })
      const attempt = take(store, makeClaim(`lock ${turns}`)).catch((error: unknown) => error)
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
      await store.close()
      await attempt
    }
    await eventually('no socket is left', () => readdirSync(join(directory, 's')).length === 0, {
      withinMs: 2000,
    })
  })

  test('a process that forgot to close ends by itself, with waiters and holders', async () => {
    const directory = makeDirectory()
    const holder = new Worker(directory)
    await holder.ask('acquire', { lock: 'held' })
    const program = `
      import { embeddedStore } from 'holdfast/embedded'
      const store = embeddedStore({ directory: ${JSON.stringify(directory)} })
      const claim = (lock) => ({ lock, id: 'c.' + lock, kind: 'mutex', capacity: 2147483647, weight: 2147483647, ttlMs: 30000,
        heartbeatMs: 1000, owner: { clientId: 'c', host: 'h', pid: process.pid } })
      store.watch(claim('held'), () => {})
      const free = await store.attempt(claim('free'), { enqueue: false, tokens: 1 })
      const held = await store.attempt(claim('held'), { enqueue: true, tokens: 1 })
      console.log(free.outcome, held.outcome)`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', program],
      {
        cwd: import.meta.dirname,
        timeout: 10_000,
      },
    )
    expect(stdout.trim()).toBe('granted waiting')
  })
})

/** The file of the lock "a" is locked. */
async function lockedByOther(): Promise<{
  store: ReturnType<typeof embeddedStore>
  unlock: () => void
}> {
  const directory = makeDirectory()
  const store = closing(embeddedStore({ directory }))
  const claim = makeClaim('a')
  await take(store, claim)
  await store.withdraw(claim)
  const raw = openRaw(databaseOf(directory, 'a'))
  raw.exec('BEGIN IMMEDIATE')
  return {
    store,
    unlock: () => {
      raw.exec('COMMIT')
      raw.close()
    },
  }
}

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').map((file) => {
    try {
      return readlinkSync(`/proc/self/fd/${file}`)
    } catch {
      return ''
    }
  })
}
