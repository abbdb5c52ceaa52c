/** Cuts a member that follows off, together with half of the clients. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cutOff, type Home } from '@holdfast/servers/network'
import type { Proxy } from '@holdfast/servers/proxy'
import type { Action } from './target.js'

/** Whether a request is one after which to cut. */
export type Spotter = (bytes: Buffer, connection: object) => boolean

/** Where a greeting of ZooKeeper has the timeout of the session; a request its number and code. */
const [TIMEOUT_AT, NUMBER_AT, CODE_AT] = [16, 4, 8]
const [PING, MULTI] = [-2, 14]
/** Sessions of leases that last long enough for two holders to be seen. */
const LONG_MS = 13_000
/** How much later than what was sent before. */
const QUIET_MS = 3000

/**
 * Spots renewals of long leases of ZooKeeper that come much later than the request before, on
 * connections that it has seen from the greeting.
 */
export function spotLateRenewals(): Spotter {
  const connections = new WeakMap<object, { readonly timeoutMs: number; sentMs: number }>()
  return (bytes, connection) => {
    if (intAt(bytes, NUMBER_AT) === PING) return false
    const nowMs = performance.now()
    const known = connections.get(connection)
    if (!known) {
      connections.set(connection, { timeoutMs: intAt(bytes, TIMEOUT_AT), sentMs: nowMs })
      return false
    }
    const quietMs = nowMs - known.sentMs
    known.sentMs = nowMs
    return known.timeoutMs >= LONG_MS && quietMs >= QUIET_MS && intAt(bytes, CODE_AT) === MULTI
  }
}

function intAt(bytes: Buffer, at: number): number {
  return bytes.length >= at + 4 ? bytes.readInt32BE(at) : 0
}

/** How long clients are given to move to the member that they still reach. */
const MOVING_MS = 3000
/** Within this time a long lease is renewed, if one of these clients has any. */
const MOST_MS = 6000
/** How long a member takes to agree to a renewal that it got. */
const AGREEING_MS = 15

/** Resolves right after a request was answered that is to be cut after, or after a while. */
async function answered(wires: readonly Proxy[], spots: Spotter): Promise<void> {
  const giveUp = new AbortController()
  const movedMs = performance.now() + MOVING_MS
  const sent = new Promise<void>((resolve) => {
    for (const wire of wires) {
      wire.onRequest = (bytes, connection) => {
        if (spots(bytes, connection) && performance.now() > movedMs) resolve()
      }
    }
  })
  await Promise.race([sent, sleep(MOVING_MS + MOST_MS, undefined, { signal: giveUp.signal })])
  giveUp.abort()
  for (const wire of wires) wire.onRequest = undefined
  await sleep(AGREEING_MS)
}

/**
 * @param leaderOf returns the number of the member that leads now
 * @param spotter makes what spots the request after which to cut; any one by default
 */
export function cutFollower(
  homes: readonly Home[],
  leaderOf: () => Promise<number>,
  spotter: () => Spotter = () => () => true,
): Action {
  return async ({ server }, tools) => {
    const leader = await leaderOf()
    const followers = homes.filter((_, index) => index !== leader)
    const home = followers[server % followers.length]
    if (!home) throw new Error('The members have no homes, and cannot be cut off.')
    const { wires, free } = tools.confine(homes.indexOf(home))
    await answered(wires, spotter())
    const join = cutOff(
      home,
      homes.filter((one) => one !== home),
    )
    return () => {
      join()
      free()
    }
  }
}
