/** Leases that are believed in for too long, and steps that are not one. */
import { Gate } from 'holdfast/testing'
import type { World } from '../support/world.js'
import { granted, type Scenario } from '../support/scenario.js'

export const LEASES: Record<string, Scenario> = {
  'no-watchdog-no-deadline': {
    async run({ clock, client }) {
      const [one, two] = [client(), client()]
      const slow = granted(await one.tryFor(100))
      await clock.advance(1500)
      return (await two.tryFor(100)) !== undefined && slow.held
    },
  },
  'get-then-set': {
    async run(world) {
      const gate = new Gate()
      const pending = [world.client(), world.client()].map((client) => {
        client.faults = (name) =>
          name === 'SET' || name === 'take' ? { hold: gate.opened } : undefined
        return client.start()
      })
      await world.clock.advance(50)
      gate.open()
      await world.clock.advance(50)
      return pending.every(({ lease }) => lease?.held) && world.violations().includes('exclusion')
    },
  },
  'get-then-del': {
    async run({ clock, client }) {
      const gate = new Gate()
      const [one, two, three] = [client(), client(), client()]
      const late = granted(await one.tryFor(100))
      one.faults = (name) => (name === 'DEL' || name === 'free' ? { hold: gate.opened } : undefined)
      const released = late.release().catch(() => undefined)
      await clock.advance(1500)
      const current = granted(await two.tryFor(100))
      gate.open()
      await released
      return (await three.tryFor(300)) !== undefined && current.held
    },
  },
  'renewal-ignores-loss': { run: pausedPastTheTtl },
  'renewal-without-owner': { run: pausedPastTheTtl },
  'watchdog-without-deadline': { run: (world) => believesTooLong(world, { untilMs: 1500 }) },
  'deadline-from-reply': {
    run: (world) => believesTooLong(world, { slowMs: 150, untilMs: 1050 }),
  },
  'wall-clock-deadline': {
    run: (world) => believesTooLong(world, { wallStepMs: -5000, untilMs: 1500 }),
  },
  'no-drift-margin': {
    ttlMs: 10_000,
    async run(world) {
      world.server.rate = 1.005
      return believesTooLong(world, { untilMs: 9960 })
    },
  },
  'resent-restarts-deadline': {
    run: (world) => believesTooLong(world, { firstAnswerLost: true, untilMs: 1050 }),
  },
}

/**
 * The first holder sleeps through its TTL and wakes up when another holds: does it go on believing?
 */
async function pausedPastTheTtl({ clock, client }: World): Promise<boolean> {
  const [one, two] = [client(), client()]
  const first = granted(await one.tryFor(100))
  one.pause()
  await clock.advance(1500)
  const second = granted(await two.tryFor(100))
  one.resume()
  await clock.advance(1000)
  return first.held && second.held
}

interface TooLong {
  /** How late the answer to the attempt comes. */
  readonly slowMs?: number
  readonly firstAnswerLost?: boolean
  /** By how much the holder's wall clock is set, while it holds. */
  readonly wallStepMs?: number
  /**
   * When, counted from its request, the second client comes, which gets the lock as soon as it
   * expired.
   */
  readonly untilMs: number
}

/**
 * The first holder is cut off from the server after its grant: does it still believe when the lock
 * is another's?
 */
async function believesTooLong(
  world: World,
  { slowMs, firstAnswerLost, wallStepMs, untilMs }: TooLong,
) {
  const [one, two] = [world.client(), world.client()]
  one.faults = (name, before) =>
    name !== 'take'
      ? undefined
      : { replyMs: slowMs ?? 0, ...(firstAnswerLost && before === 0 ? { drop: 'reply' } : {}) }
  const first = granted(await one.tryFor(500))
  one.cutOff()
  one.wallStepMs = wallStepMs ?? 0
  await world.clock.advance(untilMs - world.clock.monotonicMs())
  const second = granted(await two.tryFor(5))
  return first.held && second.held && world.violations().includes('exclusion')
}
