/** The directed scenarios of exported leases. */
import type { Heir } from '@holdfast/workload'
import type { Fault } from '../faults/fault.js'
import { once, quietCase, type Scenario } from './build.js'

const LONG_MS = 9000

/** Redlock's servers are 0, 1 and 2. From a time on a process does not reach one of them. */
function cut(process: number, node: number, atMs: number, forMs: number): Fault {
  return { kind: 'cut', process, node, atMs, forMs, holds: false }
}

/** An actor of process 0 that takes the lock and exports its lease. */
function exporter(heirs: readonly Heir[]): ReturnType<typeof once> {
  return once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 100 }, { heirs })
}

export const ADOPTION_SCENARIOS: readonly Scenario[] = [
  {
    name: 'late-adoption',
    about:
      'The request of an adopter comes after the adopter has given up and withdrawn its claim; the exported lease still lasts',
    plan: quietCase({
      store: 'redis',
      processes: 2,
      durationMs: 22_000,
      ttlMs: 20_000,
      actors: [exporter([{ process: 1, afterMs: 300, workMs: 10 }])],
      faults: [
        // In this moment the request leaves. The seed makes it arrive after the withdrawal.
        { kind: 'slow', process: 1, atMs: 400, forMs: 300, meanMs: 10_000 },
        // The client library gives its requests up, so that it does not send them again.
        { kind: 'cut', process: 1, atMs: 710, forMs: 10_700, holds: false },
        { kind: 'stop', process: 1, atMs: 720, forMs: 10_000 },
      ],
      reorder: { lanes: 3, seed: 33 },
    }),
    longestWaitMs: 11_000,
  },
  {
    name: 'stopped-adopter',
    about:
      'An adopter is stopped while the answer is on its way, and continues when the lease has ended',
    plan: quietCase({
      store: 'redis',
      processes: 2,
      durationMs: 8000,
      ttlMs: 1000,
      // The answer is awaited for longer than the stop lasts.
      requestTimeoutMs: 5000,
      actors: [exporter([{ process: 1, afterMs: 300, workMs: 10 }])],
      faults: [
        { kind: 'slow', process: 1, atMs: 400, forMs: 400, meanMs: 40 },
        { kind: 'stop', process: 1, atMs: 535, forMs: 2000 },
      ],
    }),
    longestWaitMs: 4000,
  },
  {
    name: 'unheard-export',
    about:
      'Server 2 does not hear of an export, and server 1 is away later; the next caller gets the lock from servers 0 and 2',
    plan: quietCase({
      store: 'redlock',
      processes: 3,
      durationMs: 12_000,
      ttlMs: 10_000,
      actors: [
        exporter([{ process: 1, afterMs: 300, workMs: 10 }]),
        once(2, 'p2.a', 'fifo', { atMs: 1500, workMs: 10 }),
      ],
      faults: [cut(0, 2, 150, 500), cut(2, 1, 1400, LONG_MS)],
    }),
    longestWaitMs: 3000,
  },
  {
    name: 'split-adoption',
    about:
      'Two adopters reach servers 1 and 0 first, and one gets the lease; the other one gives server 1 back, for the next caller',
    plan: quietCase({
      store: 'redlock',
      processes: 4,
      durationMs: 12_000,
      ttlMs: 10_000,
      actors: [
        exporter([
          { process: 1, afterMs: 300, workMs: 10 },
          { process: 2, afterMs: 900, workMs: 10 },
        ]),
        once(3, 'p3.a', 'fifo', { atMs: 3000, workMs: 10 }),
      ],
      faults: [cut(1, 0, 300, 1500), cut(1, 2, 300, 1500), cut(3, 0, 2900, LONG_MS)],
    }),
    longestWaitMs: 3000,
  },
]
