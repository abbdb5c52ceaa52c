/** An option that is undefined means its default, for each option of each public function. */
import type { LocksOptions, RunOptions } from 'holdfast'
import { afterAll, expect, test } from 'vitest'
import { CALLS, client, mysqlPool, pool, type Call } from './public-functions.js'

/** The options that a call cannot do without. */
const NEEDED = new Set([
  ...['client', 'clients', 'pool', 'connect', 'endpoints', 'permits', 'stripes', 'atLeastMs'],
  ...['read', 'db', 'table', 'key', 'scheme', 'user', 'password'],
  ...['pgid', 'startTime', 'locks', 'authorize'],
])

/** These would connect to a server that is not there. */
const CONNECTS = /ping/

afterAll(async () => {
  client.disconnect()
  await Promise.all([pool.end(), mysqlPool.end()])
})

/** Returns what became of a call within a few turns of the event loop, and gives leases back. */
async function outcomeOf(call: () => unknown): Promise<string> {
  const answer = Promise.resolve().then(call)
  const turns = async (): Promise<typeof pending> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    return pending
  }
  const pending = Symbol('pending')
  try {
    const result = await Promise.race([answer, turns()])
    if (result === pending) return 'pending'
    if (typeof result === 'object' && result !== null && 'release' in result)
      await (result as { release(): Promise<unknown> }).release()
    return result?.constructor.name ?? String(result)
  } catch (error) {
    return String(error)
  } finally {
    answer.catch(() => undefined)
  }
}

/** Reads the options of a call from the error that refuses another one. */
async function optionsOf(call: Call): Promise<string[]> {
  const text = await outcomeOf(() => call({ zzz: 1 }))
  const names = /It takes (.*)\.$/.exec(text)?.[1] ?? 'none'
  return names === 'none' ? [] : names.split(', ')
}

const optional: [what: string, option: string, call: Call][] = []
for (const [what, call] of Object.entries(CALLS)) {
  if (CONNECTS.test(what)) continue
  for (const option of await optionsOf(call))
    if (!NEEDED.has(option)) optional.push([what, option, call])
}

test.each(optional)('%s takes undefined for %s', async (_, option, call) => {
  const usual = await outcomeOf(() => call({}))
  expect(await outcomeOf(() => call({ [option]: undefined }))).toBe(usual)
})

test('the types allow undefined, also with exactOptionalPropertyTypes', () => {
  const given: RunOptions & LocksOptions = {
    ...{ ttlMs: undefined, renew: undefined, maxHoldMs: undefined, abortBeforeMs: undefined },
    ...{ reentrant: undefined, fairness: undefined, maxWaiters: undefined, waitMs: undefined },
    ...{ awaitRelease: undefined, namespace: undefined, label: undefined, signal: undefined },
    ...{ deadlockCheckMs: undefined, traceAcquires: undefined, atLeastMs: undefined },
  }
  expect(Object.values(given)).toEqual(Object.values(given).map(() => undefined))
})
