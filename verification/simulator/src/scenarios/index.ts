/**
 * The directed scenarios. Each is clean on the real runtime, and red on the mutation that it is
 * for.
 */
import { examine, type Examined } from '../explore.js'
import type { Runtime } from '../runtime.js'
import { ADOPTION_SCENARIOS } from './adoption.js'
import { HELPER_SCENARIOS } from './helper.js'
import { longWaits, NO_LOSS, once, quietCase, stealFromHolder, type Scenario } from './build.js'
import { RECIPE_SCENARIOS } from './recipe.js'
import { REDLOCK_SCENARIOS } from './redlock.js'

const TTL_MS = 10_000

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'unanswered-attempt',
    about:
      'The answers to an attempt are lost, so it fails for its caller; the lock is free for the next one',
    plan: quietCase({
      processes: 2,
      durationMs: 4000,
      ttlMs: TTL_MS,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 10 }, { how: 'try' }),
        once(1, 'p1.a', 'fifo', { atMs: 1500, workMs: 10 }),
      ],
      faults: [{ kind: 'storm', process: 0, atMs: 0, forMs: 400, ...NO_LOSS, loseReply: 1 }],
    }),
    longestWaitMs: 1000,
  },
  {
    name: 'given-up-wait',
    about:
      'A waiter in the middle of the queue gives up; the next one is served when the holder releases',
    plan: quietCase({
      processes: 3,
      durationMs: 6000,
      ttlMs: TTL_MS,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 2000 }),
        once(1, 'p1.a', 'fifo', { atMs: 300, workMs: 10 }, { waitMs: 500 }),
        once(2, 'p2.a', 'fifo', { atMs: 600, workMs: 10 }),
      ],
    }),
    longestWaitMs: 2500,
  },
  {
    name: 'unanswered-release',
    about: 'A release gets lost twice; it is repeated until it gets through',
    plan: quietCase({
      processes: 2,
      durationMs: 6000,
      ttlMs: TTL_MS,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 900 }),
        once(1, 'p1.a', 'fifo', { atMs: 600, workMs: 10 }),
      ],
      faults: [{ kind: 'storm', process: 0, atMs: 900, forMs: 900, ...NO_LOSS, loseRequest: 1 }],
    }),
    longestWaitMs: 2500,
  },
  {
    name: 'long-row',
    about:
      'Sixty callers of one process want a lock for no time at all, while another process waits',
    plan: quietCase({
      processes: 2,
      durationMs: 4000,
      ttlMs: 1000,
      actors: [
        once(1, 'p1.a', 'cohort-a', { atMs: 10, workMs: 500 }),
        ...Array.from({ length: 60 }, (_, index) =>
          once(0, `p0.${index}`, 'cohort-a', { atMs: 100, workMs: 0 }, { idle: true }),
        ),
        once(1, 'p1.b', 'fifo', { atMs: 10, workMs: 10 }),
      ],
    }),
    longestWaitMs: 2000,
  },
  {
    name: 'dead-waiters',
    about:
      'Three waiters are killed; when the holder releases, long after, the living one is first',
    plan: quietCase({
      processes: 3,
      durationMs: 9000,
      ttlMs: 1000,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 4900 }),
        once(1, 'p1.a', 'fifo', { atMs: 300, workMs: 10 }),
        once(1, 'p1.b', 'fifo', { atMs: 400, workMs: 10 }),
        once(1, 'p1.c', 'fifo', { atMs: 500, workMs: 10 }),
        once(2, 'p2.a', 'fifo', { atMs: 1500, workMs: 10 }),
      ],
      faults: [{ kind: 'kill', process: 1, atMs: 1000, forMs: 8000 }],
    }),
    longestWaitMs: 4500,
  },
  {
    name: 'steal',
    about:
      'A lock is stolen from a holder that would go on for long; the next one has it after a TTL at most',
    plan: stealFromHolder('memory'),
    longestWaitMs: 2500,
  },
  {
    name: 'restarted-waiter',
    about:
      'A waiter sleeps through its turn, and starts again while the server is down; it fails, or is served',
    plan: quietCase({
      processes: 2,
      durationMs: 6000,
      ttlMs: 1000,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 1400 }),
        once(1, 'p1.a', 'fifo', { atMs: 300, workMs: 10 }),
      ],
      faults: [
        // A heartbeat is due between this and the grant, so that an attempt is in flight when the
        // waiter starts again.
        { kind: 'stop', process: 1, atMs: 1150, forMs: 2250 },
        { kind: 'server-crash', atMs: 3300, forMs: 800, keepsData: true },
      ],
      reorder: { lanes: 3, seed: 3 },
    }),
    longestWaitMs: 4500,
  },
  {
    name: 'late-withdraw',
    about:
      'A waiter sleeps through its turn for more than two TTLs; what it sends on waking arrives in another order',
    plan: quietCase({
      processes: 3,
      durationMs: 6000,
      ttlMs: 1000,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 1400 }),
        once(1, 'p1.a', 'fifo', { atMs: 300, workMs: 10 }),
        once(2, 'p2.a', 'fifo', { atMs: 2600, workMs: 10 }),
      ],
      faults: [{ kind: 'stop', process: 1, atMs: 1400, forMs: 3000 }],
      reorder: { lanes: 3, seed: 1 },
    }),
    longestWaitMs: 4500,
  },
  {
    name: 'missed-grant',
    about:
      'A waiter sleeps through its turn until the store has forgotten it, and is queued again; then comes the news of its turn',
    plan: quietCase({
      processes: 3,
      durationMs: 10_000,
      ttlMs: 1000,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 1400 }),
        once(1, 'p1.a', 'fifo', { atMs: 300, workMs: 200 }),
        once(2, 'p2.a', 'fifo', { atMs: 2700, workMs: 4000 }),
      ],
      faults: [
        { kind: 'cut', process: 1, atMs: 1390, forMs: 3012, holds: true },
        { kind: 'stop', process: 1, atMs: 1400, forMs: 3000 },
      ],
      reorder: { lanes: 3, seed: 10 },
    }),
    longestWaitMs: 7000,
  },
  {
    name: 'sleeping-holder',
    about:
      'The machine of a holder sleeps; when it wakes, another holds the lock, and the store answers so',
    plan: quietCase({
      processes: 2,
      durationMs: 8000,
      ttlMs: 1000,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 3000 }),
        once(1, 'p1.a', 'fifo', { atMs: 600, workMs: 6000 }),
      ],
      faults: [{ kind: 'sleep', process: 0, atMs: 650, forMs: 3000 }],
    }),
    longestWaitMs: 2500,
  },
  ...ADOPTION_SCENARIOS,
  ...REDLOCK_SCENARIOS,
  ...RECIPE_SCENARIOS,
  ...HELPER_SCENARIOS,
]

/** Runs a scenario: its own expectation counts beside all that every run is judged by. */
export async function examineScenario(scenario: Scenario, runtime?: Runtime): Promise<Examined> {
  const examined = await examine(scenario.plan, runtime)
  return {
    ...examined,
    findings: [...examined.findings, ...longWaits(scenario, examined.outcome.events)],
  }
}

export function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS.find((one) => one.name === name)
  if (!scenario) throw new Error(`There is no scenario "${name}".`)
  return scenario
}
