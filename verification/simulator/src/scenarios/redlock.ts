/**
 * The directed scenarios of Redlock, over the servers 0, 1 and 2.
 *
 * In each of them the holder loses its way to server 1, so that its lease depends on the vote of
 * server 2. A late withdrawal or retraction ends that vote.
 */
import type { Fault, FaultOf } from '../faults/fault.js'
import { NO_LOSS, once, quietCase, type Scenario } from './build.js'

const TTL_MS = 2000
const LONG_MS = 9000

function cut(process: number, node: number, atMs: number, forMs: number): FaultOf<'cut'> {
  return { kind: 'cut', process, node, atMs, forMs, holds: false }
}

/** Delays the first copy of each request. Its connection breaks, and the client sends it again. */
function twice(process: number, node: number, atMs: number, forMs: number): Fault {
  return { kind: 'storm', process, node, atMs, forMs, ...NO_LOSS, twice: 1 }
}

/** A reader, after which each server knows every script: none is asked for by its text. */
const FIRST_READER = once(1, 'p1.b', 'readers', { atMs: 20, workMs: 5 })

interface GivenUp {
  readonly name: string
  readonly about: string
  /** When the first process attempts. */
  readonly atMs: number
  readonly requestTimeoutMs: number
  /** Makes the first copy come after the vote of the dead process, and the second before. */
  readonly seed: number
  /** From just before or just after the answer "busy". */
  readonly cut: FaultOf<'cut'>
}

/**
 * Returns a case where a process dies with the vote of server 2. That vote ends after the second
 * copy of another attempt has arrived, and before the first.
 */
function givenUp({ name, about, atMs, requestTimeoutMs, seed, cut: cutOff }: GivenUp): Scenario {
  const plan = quietCase({
    store: 'redlock',
    processes: 3,
    durationMs: 8000,
    ttlMs: TTL_MS,
    requestTimeoutMs,
    actors: [
      FIRST_READER,
      once(0, 'p0.a', 'fifo', { atMs, workMs: 5000 }),
      once(1, 'p1.a', 'fifo', { atMs: 3800, workMs: 1500 }),
      once(2, 'p2.a', 'fifo', { atMs: 100, workMs: 10 }),
    ],
    faults: [
      cut(2, 0, 0, 200),
      cut(2, 1, 0, 200),
      { kind: 'kill', process: 2, atMs: 120, forMs: 7000 },
      twice(0, 2, atMs - 5, 25),
      cutOff,
      cut(0, 1, atMs + 100, LONG_MS),
    ],
    reorder: { lanes: 1, seed },
  })
  return { name, about, plan, longestWaitMs: 2500 }
}

export const REDLOCK_SCENARIOS: readonly Scenario[] = [
  givenUp({
    name: 'given-up-vote',
    about:
      'An attempt is sent twice and refused; its first copy arrives last, and the withdrawal only after a renewal',
    atMs: 1800,
    requestTimeoutMs: 300,
    seed: 33,
    cut: cut(0, 2, 2087, 400),
  }),
  {
    name: 'owed-vote',
    about:
      'A vote is not taken back, since its server is away; it is there again for a renewal, and then the withdrawal arrives',
    plan: quietCase({
      store: 'redlock',
      processes: 3,
      durationMs: 9000,
      ttlMs: 3000,
      actors: [
        FIRST_READER,
        once(0, 'p0.a', 'fifo', { atMs: 300, workMs: 6000 }),
        once(1, 'p1.a', 'fifo', { atMs: 2500, workMs: 3000 }),
        once(2, 'p2.a', 'fifo', { atMs: 100, workMs: 560 }),
      ],
      faults: [cut(2, 2, 0, 3000), cut(0, 2, 303, 1600), cut(0, 1, 1100, LONG_MS)],
      reorder: { lanes: 1, seed: 678 },
    }),
    longestWaitMs: 2500,
  },
  {
    name: 'doubled-retraction',
    about:
      'A vote is taken back twice; when others have withdrawn and the claim has a vote again, the first copy arrives',
    plan: quietCase({
      store: 'redlock',
      processes: 4,
      durationMs: 3600,
      ttlMs: 900,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 300, workMs: 3000 }),
        once(1, 'p1.a', 'fifo', { atMs: 1300, workMs: 1500 }),
        once(2, 'p2.a', 'fifo', { atMs: 100, workMs: 420 }),
        once(3, 'p3.a', 'fifo', { atMs: 330, workMs: 10 }, { waitMs: 140 }),
        once(3, 'p3.b', 'fifo', { atMs: 340, workMs: 10 }, { waitMs: 140 }),
      ],
      faults: [cut(2, 2, 0, 1000), twice(0, 2, 310, 20), cut(0, 1, 700, LONG_MS)],
      reorder: { lanes: 1, seed: 347 },
    }),
    longestWaitMs: 2500,
  },
  {
    name: 'failed-retraction',
    about: 'The same, where no copy of the retraction is answered in time',
    plan: quietCase({
      store: 'redlock',
      processes: 4,
      durationMs: 3200,
      ttlMs: 810,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 300, workMs: 2800 }),
        once(1, 'p1.a', 'fifo', { atMs: 1300, workMs: 1200 }),
        once(2, 'p2.a', 'fifo', { atMs: 100, workMs: 670 }),
        once(3, 'p3.a', 'fifo', { atMs: 620, workMs: 10 }, { waitMs: 140 }),
        once(3, 'p3.b', 'fifo', { atMs: 630, workMs: 10 }, { waitMs: 135 }),
      ],
      faults: [
        cut(2, 2, 0, 1500),
        // The client takes the vote back when server 0 has answered, which is in the storm.
        { ...cut(0, 0, 200, 125), holds: true },
        twice(0, 2, 320, 25),
        cut(0, 1, 910, LONG_MS),
      ],
      reorder: { lanes: 1, seed: 4 },
    }),
    longestWaitMs: 2500,
  },
]
