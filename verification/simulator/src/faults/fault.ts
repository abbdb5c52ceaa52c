/** What can go wrong in a run. */

interface During {
  readonly atMs: number
  readonly forMs: number
}

interface OfProcess {
  readonly process: number
}

/**
 * Of a store of several servers: which of them it strikes. Its way to all of them, or the first,
 * where none is named.
 */
interface OfNode {
  readonly node?: number
}

export type Fault =
  /** Messages between a process and the server get lost or doubled, with these probabilities. */
  | ({ readonly kind: 'storm' } & During &
      OfProcess &
      OfNode & {
        readonly loseRequest: number
        readonly loseReply: number
        readonly twice: number
        readonly loseWake: number
      })
  | ({ readonly kind: 'slow'; readonly meanMs: number } & During & OfProcess & OfNode)
  /** Wake-ups arrive damaged: see `LinkConditions.swellsWakes`. */
  | ({ readonly kind: 'swell'; readonly times: number } & During & OfProcess)
  /** The server of a process falls behind the others: see `LinkConditions.lagMs`. */
  | ({ readonly kind: 'lag'; readonly lagMs: number } & During & OfProcess)
  /** A partition. What is sent vanishes, or arrives when it is over. */
  | ({ readonly kind: 'cut'; readonly holds: boolean } & During & OfProcess & OfNode)
  /** The process is stopped. */
  | ({ readonly kind: 'stop' } & During & OfProcess)
  /** The event loop of the process is blocked; its other threads run. */
  | ({ readonly kind: 'block' } & During & OfProcess)
  /** The thread of the process that renews ends, as without memory. */
  | ({ readonly kind: 'thread-end' } & During & OfProcess)
  /** The machine of the process sleeps, and its monotonic clock with it. */
  | ({ readonly kind: 'sleep' } & During & OfProcess)
  /** The process is killed; after a while another one does the rest of its work. */
  | ({ readonly kind: 'kill' } & During & OfProcess)
  | ({ readonly kind: 'clock-step'; readonly byMs: number } & During & OfProcess)
  | ({ readonly kind: 'server-stop' } & During & OfNode)
  | ({ readonly kind: 'server-crash'; readonly keepsData: boolean } & During & OfNode)
  /** All data is gone from one moment to the next, as after FLUSHALL; connections stay. */
  | ({ readonly kind: 'server-flush' } & During & OfNode)
  | ({ readonly kind: 'server-clock-step'; readonly byMs: number } & During & OfNode)
  /** The connections of a process break; it may connect again at once. */
  | ({ readonly kind: 'reset' } & During & OfProcess & OfNode)
  /** The server dies and its replica takes over, which lacks the latest writes. */
  | ({ readonly kind: 'server-failover'; readonly losesMs: number } & During & OfNode)

export type FaultKind = Fault['kind']
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { readonly kind: Kind }>

/** When the server first loses data, all of it or the latest; Infinity without such a fault. */
export function firstLossMs(faults: readonly Fault[]): number {
  const losses = faults.filter(
    (fault) =>
      fault.kind === 'server-flush' ||
      fault.kind === 'server-failover' ||
      (fault.kind === 'server-crash' && !fault.keepsData),
  )
  return Math.min(Infinity, ...losses.map(({ atMs }) => atMs))
}
