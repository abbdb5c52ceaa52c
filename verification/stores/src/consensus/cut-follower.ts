/** Cuts a member that follows off, together with half of the clients. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cutOff, type Home } from '@holdfast/servers/network'
import type { Proxy } from '@holdfast/servers/proxy'
import type { Action } from '../faults/target.js'

/** Whether a request is one after which to cut. */
export type Spotter = (bytes: Buffer, connection: object) => boolean

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
