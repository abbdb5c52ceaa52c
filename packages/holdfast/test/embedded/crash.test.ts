/** Processes that are killed or stopped while they hold the lock or wait for it. */
import { inspectPage } from 'holdfast/internal'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { embeddedStore } from 'holdfast/embedded'
import type { ProcessGroup } from 'holdfast/store'
import { describe, expect, test, vi } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { Worker } from './support/workers.js'
import {
  after,
  closing,
  databaseOf,
  makeClaim,
  makeDirectory,
  openRaw,
  take,
} from './support/world.js'

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6
const enqueue = { enqueue: true, tokens: 1 }

describe.skipIf(process.platform === 'win32')('a killed holder', () => {
  test('the waiter of another process owns the lock at once', async () => {
    const directory = makeDirectory()
    const latencies: number[] = []
    let holder = new Worker(directory, 'seldom')
    let last = BigInt(String((await holder.ask('acquire', { lock: 'a' }))['token']))
    for (let round = 0; round < 15; round += 1) {
      const waiter = new Worker(directory, 'seldom')
      const acquired = waiter.ask('acquire', { lock: 'a' })
      await untilWaiters(directory, 'a', 1)
      const killedMs = nowMs()
      holder.process.kill('SIGKILL')
      const { token, atMs } = await acquired
      latencies.push(Number(atMs) - killedMs)
      expect(BigInt(String(token))).toBeGreaterThan(last)
      last = BigInt(String(token))
      holder = waiter
    }
    const sorted = latencies.toSorted((a, b) => a - b)
    console.log(
      `from SIGKILL to the next owner: median ${sorted[7]?.toFixed(1)} ms, ${sorted.at(-1)?.toFixed(1)} ms at most`,
    )
    // A missed sign of death would cost a heartbeat, which takes more than seven seconds here.
    expect(sorted.at(-1)).toBeLessThan(2500)
  })

  test('a caller that does not wait gets the lock as well', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    const holder = new Worker(directory)
    await holder.ask('acquire', { lock: 'a' })
    expect(await store.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })).toMatchObject({
      outcome: 'busy',
    })
    await holder.kill()
    await take(store, makeClaim('a'))
  })

  test('a caller that does not wait gets the lock when another store cleans up meanwhile', async () => {
    const directory = makeDirectory()
    const holder = new Worker(directory)
    await holder.ask('acquire', { lock: 'a' })
    const [socket = ''] = readdirSync(join(directory, 's'))
    const store = closing(embeddedStore({ directory }))
    // With its first lock a store looks for the dead: this one still lives.
    await take(store, makeClaim('other'))
    await holder.kill()
    const raw = openRaw(databaseOf(directory, 'a'))
    const attempt = store.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })
    // The holder's row was read and its socket is being asked, but nothing is heard of that in this
    // turn.
    await new Promise((resolve) => process.nextTick(resolve))
    raw.exec(
      `DELETE FROM locks WHERE name = 'a'; DELETE FROM peers WHERE id = '${socket.slice(0, -5)}'`,
    )
    rmSync(join(directory, 's', socket), { force: true })
    raw.close()
    expect(await attempt).toMatchObject({ outcome: 'granted' })
  })

  test('a caller that gave up during the cleanup does not get the lock', async () => {
    const directory = makeDirectory()
    const semaphore = { kind: 'semaphore', capacity: 6, weight: 1 } as const
    const store = closing(embeddedStore({ directory }))
    // With its first lock a store cleans up after dead ones. That comes first: a later cleanup
    // would end the holder's claims.
    await take(store, makeClaim('other'))
    const holder = new Worker(directory)
    // More than the withdrawals that a lock remembers.
    for (let claims = 0; claims < 6; claims += 1) {
      await holder.ask('hold', { claim: makeClaim('a', semaphore) })
    }
    await holder.kill()
    const claim = makeClaim('a', semaphore)
    const attempt = store.attempt(claim, { enqueue: false, tokens: 1 })
    // The holder's row was read and its socket is being asked, but nothing is heard of that in this
    // turn.
    await new Promise((resolve) => process.nextTick(resolve))
    expect(await store.withdraw(claim)).toBe('absent')
    expect(await attempt).toEqual({ outcome: 'withdrawn' })
    expect(await store.inspect(['a'])).toEqual([])
  })

  test.each(['process.exit(3)', "throw new Error('on purpose')", ''])(
    'a holder that ends without a release frees the lock as well: %s',
    async (end) => {
      const directory = makeDirectory()
      const program = `
        import { embeddedStore } from 'holdfast/embedded'
        const store = embeddedStore({ directory: ${JSON.stringify(directory)} })
        await store.attempt(${JSON.stringify(makeClaim('a'))}, { enqueue: false, tokens: 1 })
        ${end}`
      spawnSync(process.execPath, ['--input-type=module', '-e', program], {
        cwd: import.meta.dirname,
      })
      await take(closing(embeddedStore({ directory })), makeClaim('a'))
    },
  )

  test('a stopped holder keeps the lock until its TTL', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    const holder = new Worker(directory)
    const { atMs } = await holder.ask('acquire', { lock: 'a', ttlMs: 1500 })
    const lookedMs = nowMs()
    const locks = await store.inspect(['a'])
    const endsMs = lookedMs + (locks[0]?.holders[0]?.remainingMs ?? 0)
    void holder.ask('freeze')
    const claim = makeClaim('a')
    await eventually(
      'the lease ends',
      async () => (await store.attempt(claim, enqueue)).outcome === 'granted',
    )
    expect(nowMs()).toBeGreaterThan(endsMs)
    // The lease counts from the latest renewal, which may have been sent at most a third of the TTL
    // later.
    expect(nowMs() - Number(atMs)).toBeLessThan(4000)
  })

  test('its claims on other locks end too, and what it left is removed', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    const holder = new Worker(directory)
    for (const lock of ['a', 'b', 'c']) await holder.ask('acquire', { lock })
    expect(await store.attempt(makeClaim('a'), enqueue)).toMatchObject({ outcome: 'waiting' })
    await holder.kill()
    await eventually('all are free', async () => {
      const { locks } = await inspectPage(store, { prefix: '', limit: 10 })
      return locks.every(({ holders }) => holders.every(({ owner }) => owner.pid === process.pid))
    })
  })
})

describe.skipIf(process.platform === 'win32')('a dead waiter', () => {
  test('is passed over without a wait for its grant to end', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    const held = makeClaim('a')
    await take(store, held)
    const dead = new Worker(directory)
    // Such a heartbeat would let the grant of the dead one live for half a minute.
    await dead.ask('queue', { claim: makeClaim('a', { heartbeatMs: 10_000 }) })
    const next = makeClaim('a', { heartbeatMs: 10_000 })
    const granted = new Promise<number>((resolve) => void store.watch(next, () => resolve(nowMs())))
    expect(await store.attempt(next, enqueue)).toMatchObject({ outcome: 'waiting' })
    await dead.kill()
    const releasedMs = nowMs()
    await store.withdraw(held)
    expect((await granted) - releasedMs).toBeLessThan(1000)
  })

  test('also by a process that does not wait for that lock itself', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    const held = makeClaim('a')
    await take(store, held)
    const dead = new Worker(directory)
    await dead.ask('queue', { claim: makeClaim('a', { heartbeatMs: 10_000 }) })
    await dead.kill()
    await store.withdraw(held)
    await eventually(
      'the lock is free',
      async () => {
        const locks = await store.inspect(['a'])
        return locks.length === 0
      },
      { withinMs: 2000 },
    )
  })
})

describe.skipIf(process.platform !== 'linux')('a process group that works under the lock', () => {
  test('holds the takeover back until it is gone', async () => {
    const directory = makeDirectory()
    const { holder, group } = await holdWithGroup(directory)
    const waiter = new Worker(directory)
    const acquired = waiter.ask('acquire', { lock: 'a' })
    await untilWaiters(directory, 'a', 1)
    await holder.kill()
    const store = closing(embeddedStore({ directory }))
    // Each of these attempts sees that the holder is dead.
    for (let look = 0; look < 10; look += 1) {
      const answer = await store.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })
      expect(answer.outcome).toBe('busy')
    }
    const goneMs = nowMs()
    process.kill(-group.pgid, 'SIGKILL')
    expect(Number((await acquired)['atMs'])).toBeGreaterThan(goneMs)
    expect(nowMs() - goneMs).toBeLessThan(1000)
  })

  test('is looked at no more often the more ask for the lock', async () => {
    const directory = makeDirectory()
    const { holder, group } = await holdWithGroup(directory)
    const store = closing(embeddedStore({ directory }))
    const waiting = makeClaim('a', { heartbeatMs: 10_000 })
    store.watch(waiting, () => undefined)
    expect(await store.attempt(waiting, enqueue)).toMatchObject({ outcome: 'waiting' })
    await holder.kill()
    for (let attempts = 0; attempts < 8; attempts += 1) {
      await store.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })
    }
    const looks = vi.spyOn(process, 'kill')
    after(() => looks.mockRestore())
    const beganMs = nowMs()
    const looksAtGroup = (): number =>
      looks.mock.calls.filter(([pid]) => pid === -group.pgid).length
    await eventually('it is looked at', () => looksAtGroup() >= 10)
    // Between two of them are 15 ms at least; a timer may be early by one.
    expect((nowMs() - beganMs) / (looksAtGroup() - 1)).toBeGreaterThan(14)
  })

  test('does not when it was gone before', async () => {
    const directory = makeDirectory()
    const { holder, group } = await holdWithGroup(directory)
    process.kill(-group.pgid, 'SIGKILL')
    await holder.kill()
    const store = closing(embeddedStore({ directory }))
    const claim = makeClaim('a')
    await eventually(
      'the lock is free',
      async () => (await store.attempt(claim, enqueue)).outcome === 'granted',
      { withinMs: 1000 },
    )
  })

  test('does not when another process has its number now', async () => {
    const directory = makeDirectory()
    const { holder } = await holdWithGroup(directory, (group) => ({ ...group, startTime: '1' }))
    await holder.kill()
    await take(closing(embeddedStore({ directory })), makeClaim('a'))
  })
})

describe.skipIf(process.platform !== 'linux')('rounds of killing', () => {
  test('four processes contend, and no two hold at once', { timeout: 120_000 }, async () => {
    const directory = makeDirectory()
    const marker = join(directory, 'marker')
    const log = join(directory, 'log')
    const contend = { lock: 'a', marker, log }
    const workers: Worker[] = []
    const all: Worker[] = []
    const start = (): Worker => {
      const worker = new Worker(directory)
      // It never answers: it takes and gives the lock until it is killed.
      void worker.ask('contend', contend).catch(() => undefined)
      all.push(worker)
      return worker
    }
    for (let index = 0; index < 4; index += 1) workers.push(start())
    for (let round = 0; round < 30; round += 1) {
      const before = sizeOf(log)
      await eventually(
        'a process works',
        () => sizeOf(log) > before + 5 * 17 || doubles(all).length > 0,
        {
          withinMs: 15_000,
        },
      )
      const victim = Math.floor(Math.random() * workers.length)
      await workers[victim]?.kill()
      workers[victim] = start()
    }
    for (const worker of workers) await worker.kill()
    expect(doubles(all)).toEqual([])
    const tokens = readFileSync(log, 'utf8').trim().split('\n').map(BigInt)
    for (const [index, token] of tokens.entries()) {
      if (index > 0 && token <= (tokens[index - 1] ?? 0n))
        throw new Error(`${token} after ${tokens[index - 1]}`)
    }
    console.log(`30 rounds: ${tokens.length} holders one after the other`)
  })
})

async function untilWaiters(directory: string, lock: string, count: number): Promise<void> {
  const store = closing(embeddedStore({ directory }))
  await eventually(`${count} waiters`, async () => {
    const locks = await store.inspect([lock])
    return locks[0]?.waiters.length === count
  })
}

async function holdWithGroup(
  directory: string,
  record = (group: ProcessGroup): ProcessGroup => group,
): Promise<{ holder: Worker; group: ProcessGroup }> {
  const holder = new Worker(directory)
  const group = (await holder.ask('child')) as unknown as ProcessGroup
  after(() => {
    try {
      process.kill(-group.pgid, 'SIGKILL')
    } catch {
      // The test did it.
    }
  })
  const claim = makeClaim('a')
  const owner = { ...claim.owner, group: record(group) }
  expect(await holder.ask('hold', { claim: { ...claim, owner } })).toEqual({ outcome: 'granted' })
  return { holder, group }
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0
}

function doubles(workers: readonly Worker[]): unknown[] {
  return workers.flatMap((worker) => worker.doubles)
}
