/** Waiting, tokens, release, and attempts that are given up. */
import { Gate } from 'holdfast/testing'
import { granted, type Scenario } from '../support/scenario.js'
import type { World } from '../support/world.js'

export const OTHERS: Record<string, Scenario> = {
  'no-floor': {
    async run({ clock, server, client }) {
      const [one, two] = [client(), client()]
      const lease = granted(await one.tryFor(100))
      const waiting = two.start()
      await clock.advance(100)
      server.losesMessages = true
      await lease.release()
      await clock.advance(10_000)
      return !waiting.settled
    },
  },
  'separate-fence': {
    // Shorter than the time that an attempt waits for its answer.
    ttlMs: 100,
    async run({ clock, client }) {
      const gate = new Gate()
      const [one, two] = [client(), client()]
      one.faults = (name) =>
        name === 'INCR' ? { hold: gate.opened } : name === 'renew' ? { drop: 'request' } : undefined
      const first = one.start()
      await clock.advance(110)
      const second = granted(await two.tryFor(50))
      gate.open()
      await clock.advance(0)
      const stale = granted(first.lease)
      return second.held && (stale.token ?? 0n) > (second.token ?? 0n)
    },
  },
  'client-clock-fence': {
    run: async (world) => (await oneAfterTheOther(world, -60_000)).includes('token-order'),
  },
  'per-process-token': {
    run: async (world) => (await oneAfterTheOther(world, 0)).includes('token-unique'),
  },
  'lying-release': {
    async run({ server, client }) {
      const lease = granted(await client().tryFor(100))
      server.redis.restart({ withData: false })
      return (await lease.release()) === 'released'
    },
  },
  'no-withdraw': {
    ttlMs: 10_000,
    async run({ client }) {
      const [one, two] = [client(), client()]
      one.faults = (name) => (name === 'take' ? { drop: 'reply' } : undefined)
      await one.tryFor(150)
      return (await two.tryFor(1000)) === undefined
    },
  },
  'no-tombstone': {
    ttlMs: 10_000,
    async run({ clock, client }) {
      const gate = new Gate()
      const [one, two] = [client(), client()]
      one.faults = (name) => (name.startsWith('take') ? { hold: gate.opened } : undefined)
      await one.tryFor(150)
      gate.open()
      await clock.advance(0)
      return (await two.tryFor(1000)) === undefined
    },
  },
}

/**
 * Two hold one after the other, the second with its wall clock set by `wallStepMs`: what the
 * checkers say.
 */
async function oneAfterTheOther(world: World, wallStepMs: number): Promise<string[]> {
  const [one, two] = [world.client(), world.client()]
  two.wallStepMs = wallStepMs
  const first = granted(await one.tryFor(100))
  await world.clock.advance(100)
  await first.release()
  granted(await two.tryFor(100))
  return world.violations()
}
