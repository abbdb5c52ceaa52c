/** Scenarios of a thread that renews beside a blocked event loop. */
import { once, quietCase, type Scenario } from './build.js'

export const HELPER_SCENARIOS: readonly Scenario[] = [
  {
    name: 'blocked-holder',
    about:
      'The event loop of a holder is blocked for three TTLs; it keeps its lease beside a waiter',
    plan: quietCase({
      store: 'redis-worker',
      blockedAtMostMs: 10_000,
      processes: 2,
      durationMs: 9000,
      ttlMs: 1000,
      actors: [
        once(0, 'p0.a', 'fifo', { atMs: 500, workMs: 2000 }),
        once(1, 'p1.a', 'fifo', { atMs: 800, workMs: 10 }),
      ],
      faults: [{ kind: 'block', process: 0, atMs: 1200, forMs: 3000 }],
    }),
    longestWaitMs: 5500,
  },
  {
    name: 'blocked-exporter',
    about:
      'The event loop of an exporter is blocked while its request is on the way; the thread leaves the lease alone',
    plan: quietCase({
      store: 'redis-worker',
      blockedAtMostMs: 10_000,
      processes: 2,
      durationMs: 9000,
      ttlMs: 1000,
      requestTimeoutMs: 2000,
      actors: [
        once(
          0,
          'p0.a',
          'fifo',
          { atMs: 500, workMs: 500 },
          { heirs: [{ process: 1, afterMs: 300, workMs: 10 }] },
        ),
      ],
      faults: [
        { kind: 'slow', process: 0, atMs: 1010, forMs: 1500, meanMs: 150 },
        { kind: 'block', process: 0, atMs: 1012, forMs: 700 },
      ],
    }),
    longestWaitMs: 5500,
  },
]
