/** Gives a claim back and makes sure of it. */
import { ask, jittered, pause } from '../ask.js'
import { isReplyError, type ControlSettings, type ControlWorld } from '../port.js'
import type { Claim, Parts } from './parts.js'

/**
 * Asks until it is answered. Undefined if there was no answer for a whole TTL: whatever the claim held has then expired.
 */
export async function withdraw(
  parts: Parts,
  world: ControlWorld,
  settings: ControlSettings,
  claim: Claim,
): Promise<boolean | undefined> {
  const { clock } = world
  const endMs = clock.monotonicMs() + settings.ttlMs
  while (clock.monotonicMs() < endMs) {
    const asked = await askOnce(parts, world, settings, claim)
    if (asked?.clear === true) return asked.value
    await pause(clock, jittered(settings.retryMs, world))
  }
  return undefined
}

/** A server that refuses to write, for want of memory say, may think better of it. */
async function askOnce(parts: Parts, world: ControlWorld, settings: ControlSettings, claim: Claim) {
  try {
    return await ask(world, settings, () => parts.free(world, claim))
  } catch (error) {
    if (isReplyError(error)) return undefined
    throw error
  }
}
