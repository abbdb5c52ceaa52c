/** Waiters over HTTP: with a stream of messages, and without one. What each hour costs. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createLocks, type Locks } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import type { RestBridge } from '@holdfast/servers/redis-rest'
import { isFull } from '../../../../../test/support/plan.js'
import { after, openOver, startBridge } from './world.js'

test.each([
  ['also after its stream broke', true],
  ['not by asking', false],
])('a waiter with a stream gets the lock by a message, %s', async (_, isBroken) => {
  const bridge = await startBridge()
  const [one, other] = twoClients(bridge, true)
  // Then the server knows the scripts.
  await one.mutex('a').run(() => undefined)
  const lease = await one.mutex('a').acquire()
  const waiting = other.mutex('a').acquire()
  await eventually('it listens', () => bridge.streams === 1)
  if (isBroken) {
    bridge.endStreams()
    await eventually('it listens again', () => streamsOf(bridge) === 2 && bridge.streams === 1)
  }
  // The waiter asks once when it listens.
  await new Promise((resolve) => setTimeout(resolve, 500))
  const before = bridge.requests.length
  await lease.release()
  const next = await waiting
  expect(bridge.requests.length - before).toBe(1)
  await next.release()
})

test('a waiter without a stream keeps its place, and asks ever more seldom', async () => {
  const bridge = await startBridge()
  const [one, other] = twoClients(bridge, false)
  const lease = await one.mutex('a').acquire()
  const order: string[] = []
  const note = (name: string, locks: Locks): Promise<void> =>
    locks.mutex('a').run(() => void order.push(name))
  const first = note('first', other)
  await eventually('it waits', async () => (await one.mutex('a').inspect()).waiters.length === 1)
  const third = createLocks(openOver(bridge, { subscribe: false }))
  after(() => third.close())
  const second = note('second', third)
  await eventually('it waits', async () => (await one.mutex('a').inspect()).waiters.length === 2)
  await lease.release()
  await Promise.all([first, second])
  expect(order).toEqual(['first', 'second'])
  expect(streamsOf(bridge)).toBe(0)
})

test('what an hour of waiting and of holding costs', { timeout: 200_000 }, async () => {
  const forMs = isFull() ? 60_000 : 6000
  for (const [subscribe, mostPerMinute] of [
    [true, 30],
    [false, 100],
  ] as const) {
    const bridge = await startBridge()
    const [one, other] = twoClients(bridge, subscribe)
    const lease = await one.mutex('a').acquire()
    const abort = new AbortController()
    const waiting = other.mutex('a').acquire({ signal: abort.signal })
    waiting.catch(() => undefined)
    await eventually('it waits', async () => (await one.mutex('a').inspect()).waiters.length === 1)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    bridge.requests.splice(0)
    await new Promise((resolve) => setTimeout(resolve, forMs))
    const count = bridge.requests.length
    console.log(
      `${subscribe ? 'with' : 'without'} a stream, one holder and one waiter: ` +
        `${count} requests in ${forMs / 1000} s, ${Math.round((count * 3_600_000) / forMs)} an hour`,
    )
    expect(count).toBeLessThanOrEqual((mostPerMinute * forMs) / 60_000)
    abort.abort()
    await lease.release()
  }
})

test('an open stream of a client that was not closed does not keep the process alive', async () => {
  const bridge = await startBridge()
  const program = `
    import { createLocks } from 'holdfast'
    import { redisStore } from 'holdfast/redis'
    const make = () => createLocks(redisStore(${JSON.stringify({ url: bridge.url, token: bridge.token, subscribe: true })}))
    const [one, other] = [make(), make()]
    const lease = await one.mutex('a').acquire()
    const waiting = other.mutex('a').acquire()
    setTimeout(() => lease.release(), 300)
    await (await waiting).release()
    console.log('done')`
  const options = { cwd: import.meta.dirname, timeout: 20_000 }
  const args = ['--input-type=module', '-e', program]
  expect((await promisify(execFile)(process.execPath, args, options)).stdout).toBe('done\n')
})

function twoClients(bridge: RestBridge, subscribe: boolean): [Locks, Locks] {
  const make = (): Locks => {
    const locks = createLocks(openOver(bridge, { subscribe }))
    after(() => locks.close())
    return locks
  }
  return [make(), make()]
}

function streamsOf(bridge: RestBridge): number {
  return bridge.requests.filter(({ path }) => path.startsWith('/subscribe/')).length
}
