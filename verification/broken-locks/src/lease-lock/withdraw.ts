/** Gives a claim back and makes sure of it. */
import { ask, jittered, pause } from '../ask.js'
import type { Claim, Means } from './parts.js'

/**
 * Asks until it is answered; a server that refuses, for want of memory say, may think better of it.
 * Undefined if there was no answer for a whole TTL: what the claim held has then expired. Never
 * rejects.
 */
export async function withdraw(
  { parts, world, settings }: Means,
  claim: Claim,
): Promise<boolean | undefined> {
  const { clock } = world
  const endMs = clock.monotonicMs() + settings.ttlMs
  while (clock.monotonicMs() < endMs) {
    const asked = await ask(world, settings, () => parts.free(world, claim))
    if (asked.outcome === 'answered') return asked.value
    await pause(clock, jittered(settings.retryMs, world))
  }
  return undefined
}
