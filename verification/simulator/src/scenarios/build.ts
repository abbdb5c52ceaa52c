/**
 * Directed scenarios: small cases written by hand, where chance would take too long to find the one
 * moment.
 */
import type { HistoryEvent } from '@holdfast/conformance'
import type { Case } from '../case.js'
import { NODES, type StoreName } from '../server/models.js'
import type { Fault } from '../faults/fault.js'
import type { Finding } from '../judge/judge.js'
import type { ActorScript, LockName, Operation } from '@holdfast/workload'

export interface Scenario {
  readonly name: string
  /** What happens, as a sentence. */
  readonly about: string
  readonly plan: Case
  /** The longest wait for a lock, in milliseconds. */
  readonly longestWaitMs: number
}

export interface Setting {
  readonly processes: number
  readonly durationMs: number
  readonly ttlMs: number
  /** How long a request may take; 300 where none is named. */
  readonly requestTimeoutMs?: number
  readonly actors: readonly ActorScript[]
  readonly faults?: readonly Fault[]
  /** Over which store model; `memory` where none is named. */
  readonly store?: StoreName
  /** See `Case`; none where none is named. */
  readonly blockedAtMostMs?: number
  /**
   * Where messages have to overtake one another: how many connections, and which seed makes them do
   * so.
   */
  readonly reorder?: { readonly lanes: number; readonly seed: number }
}

/** A storm in which no message is lost or doubled. */
export const NO_LOSS = { loseRequest: 0, loseReply: 0, twice: 0, loseWake: 0 }
const IN_ORDER = { lanes: 1, seed: 1 }

/**
 * Right clocks, one connection for each process by default, and only the faults that are named.
 */
export function quietCase(setting: Setting): Case {
  const { processes, durationMs, ttlMs, requestTimeoutMs = 300, actors, faults = [] } = setting
  const { reorder = IN_ORDER, store = 'memory', blockedAtMostMs } = setting
  const right = { startMs: 0, wallOffMs: 0, rate: 1 }
  return {
    seed: reorder.seed,
    store,
    durationMs,
    ttlMs,
    clocks: Array.from({ length: processes }, () => right),
    serverClocks: Array.from({ length: NODES[store] }, () => right),
    lanes: reorder.lanes,
    requestTimeoutMs,
    awaitRelease: true,
    blockedAtMostMs,
    actors,
    faults,
  }
}

/** An actor that takes a lock once: it asks for it at a time, and works under it for a while. */
export function once(
  process: number,
  name: string,
  lock: LockName,
  times: { readonly atMs: number; readonly workMs: number },
  more: Partial<Operation> = {},
): ActorScript {
  const operation: Operation = {
    thinkMs: times.atMs,
    lock,
    how: 'acquire',
    write: false,
    weight: 1,
    waitMs: Infinity,
    abortMs: undefined,
    idle: false,
    workMs: times.workMs,
    renew: true,
    twist: 'none',
    nested: undefined,
    heirs: [],
    ...more,
  }
  return { process, name, operations: [operation] }
}

/** Who waited for too long, or waits still. */
export function longWaits(
  { longestWaitMs }: { readonly longestWaitMs: number },
  events: readonly HistoryEvent[],
): Finding[] {
  const found: Finding[] = []
  const asked = new Map<string, number>()
  for (const { f, type, client, key, t_ns } of events) {
    if (f !== 'acquire') continue
    const nowMs = Number(t_ns) / 1e6
    if (type === 'invoke') asked.set(client, nowMs)
    const waitedMs = nowMs - (asked.get(client) ?? nowMs)
    if (waitedMs <= longestWaitMs) continue
    const message = `${client} waited ${waitedMs.toFixed(0)} ms for "${key}", more than ${longestWaitMs} ms.`
    found.push({ property: 'wait', key, message })
  }
  return found
}

/** A lock is stolen from a holder that would go on for long, while another process waits. */
export function stealFromHolder(store: StoreName): Case {
  return quietCase({
    store,
    processes: 3,
    durationMs: 9000,
    ttlMs: 1000,
    actors: [
      once(0, 'p0.a', 'fifo', { atMs: 100, workMs: 8000 }),
      once(1, 'p1.a', 'fifo', { atMs: 500, workMs: 10 }),
      once(2, 'p2.a', 'fifo', { atMs: 1000, workMs: 0 }, { how: 'steal' }),
    ],
  })
}
