/** The directed scenarios of the queue recipe of etcd and ZooKeeper. */
import type { Fault } from '../faults/fault.js'
import { NO_LOSS, once, quietCase, stealFromHolder, type Scenario } from './build.js'

/** So long that heartbeats come once a second. */
const TTL_MS = 10_000

/** What a process sends vanishes for a while. */
function cut(process: number, atMs: number, forMs: number): Fault {
  return { kind: 'cut', process, atMs, forMs, holds: false }
}

export const RECIPE_SCENARIOS: readonly Scenario[] = [
  {
    name: 'sleep-after-attempt',
    about:
      'A machine sleeps while the answer to an attempt is on its way, until its session is about to end',
    plan: quietCase({
      store: 'etcd-queue',
      processes: 2,
      durationMs: 6000,
      ttlMs: 1000,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 3000 }),
        once(1, 'p1.a', 'fifo', { atMs: 600, workMs: 1500 }),
      ],
      faults: [{ kind: 'sleep', process: 0, atMs: 106, forMs: 1800 }],
    }),
    longestWaitMs: 5000,
  },
  {
    name: 'reader-behind-writer',
    about: 'A reader waits behind a writer of its own process, and is served by the release',
    plan: quietCase({
      store: 'etcd-queue',
      processes: 1,
      durationMs: 4000,
      ttlMs: TTL_MS,
      actors: [
        once(0, 'p0.a', 'readers', { atMs: 100, workMs: 1300 }, { write: true }),
        once(0, 'p0.b', 'readers', { atMs: 200, workMs: 10 }),
      ],
    }),
    longestWaitMs: 1300,
  },
  {
    name: 'permit-behind-waiter',
    about: 'A permit waits behind another waiter, and fits beside it once that one was granted',
    plan: quietCase({
      store: 'etcd-queue',
      processes: 3,
      durationMs: 6000,
      ttlMs: TTL_MS,
      actors: [
        once(0, 'p0.a', 'permits', { atMs: 100, workMs: 1300 }, { weight: 3 }),
        once(1, 'p1.a', 'permits', { atMs: 200, workMs: 3000 }, { weight: 2 }),
        once(2, 'p2.a', 'permits', { atMs: 300, workMs: 10 }, { weight: 1 }),
      ],
    }),
    longestWaitMs: 1300,
  },
  {
    name: 'first-of-two-holders',
    about: 'A permit waits for two holders, and the one that came first is the first to leave',
    plan: quietCase({
      store: 'etcd-queue',
      processes: 3,
      durationMs: 6000,
      ttlMs: TTL_MS,
      actors: [
        once(0, 'p0.a', 'permits', { atMs: 100, workMs: 1400 }, { weight: 2 }),
        once(1, 'p1.a', 'permits', { atMs: 200, workMs: 4000 }, { weight: 1 }),
        once(2, 'p2.a', 'permits', { atMs: 300, workMs: 10 }, { weight: 2 }),
      ],
    }),
    longestWaitMs: 1300,
  },
  {
    name: 'unheard-refusal',
    about:
      'An attempt made its entry unheard, and the service is away until the runtime has given the claim up; the session lives on',
    plan: quietCase({
      store: 'etcd-queue',
      processes: 2,
      durationMs: 9000,
      ttlMs: 1000,
      requestTimeoutMs: 150,
      actors: [
        once(0, 'p0.b', 'cohort-a', { atMs: 50, workMs: 1100 }),
        once(0, 'p0.a', 'fifo', { atMs: 1060, workMs: 10 }, { how: 'try' }),
        once(0, 'p0.c', 'cohort-b', { atMs: 2600, workMs: 5000 }),
        once(1, 'p1.a', 'fifo', { atMs: 1200, workMs: 10 }),
      ],
      faults: [
        { kind: 'storm', process: 0, atMs: 1060, forMs: 20, ...NO_LOSS, loseReply: 1 },
        cut(0, 1070, 1500),
      ],
    }),
    longestWaitMs: 2500,
  },
  {
    name: 'stolen-entry',
    about:
      'A lock is stolen from a holder whose session lives on; the next one has it after a TTL at most',
    plan: stealFromHolder('etcd-queue'),
    longestWaitMs: 2500,
  },
  {
    name: 'stolen-adoption',
    about:
      'The answer to an adoption is lost, and the lease is stolen before the adopter asks again',
    plan: quietCase({
      store: 'etcd-queue',
      processes: 4,
      durationMs: 9000,
      ttlMs: 3000,
      actors: [
        once(1, 'p1.a', 'cohort-a', { atMs: 50, workMs: 8000 }),
        once(
          0,
          'p0.a',
          'fifo',
          { atMs: 100, workMs: 100 },
          {
            heirs: [{ process: 1, afterMs: 300, workMs: 10 }],
          },
        ),
        once(2, 'p2.a', 'fifo', { atMs: 800, workMs: 0 }, { how: 'steal' }),
        once(3, 'p3.a', 'fifo', { atMs: 900, workMs: 10 }),
      ],
      faults: [{ kind: 'storm', process: 1, atMs: 531, forMs: 400, ...NO_LOSS, loseReply: 1 }],
    }),
    longestWaitMs: 3000,
  },
]
