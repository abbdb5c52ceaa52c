/** How long after the deadline of a lease its holder learned of the loss. */
import type { BlockNote, LossNote, Note } from '../protocol.js'
import type { Stop } from '../run/chronicle.js'

export interface Distribution {
  readonly count: number
  /** In milliseconds. */
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export interface Announcements {
  /** Of holders whose process ran: announcement − deadline. Negative is before the deadline. */
  readonly awake: Distribution | undefined
  /**
   * Of holders whose process was stopped or blocked at the deadline: announcement − the moment of
   * waking.
   */
  readonly woken: Distribution | undefined
  readonly reasons: Readonly<Record<string, number>>
}

export function announcementsOf(notes: readonly Note[], stops: readonly Stop[]): Announcements {
  const losses = notes.filter((note): note is LossNote => note.note === 'loss')
  const awake: number[] = []
  const woken: number[] = []
  const reasons: Record<string, number> = {}
  for (const { pid, reason, deadline_ns, announced_ns } of losses) {
    reasons[reason] = (reasons[reason] ?? 0) + 1
    const [deadlineNs, toldNs] = [BigInt(deadline_ns), BigInt(announced_ns)]
    const stop = stops.find(
      (one) => one.pid === pid && one.startNs <= deadlineNs && deadlineNs <= one.endNs,
    )
    if (stop) woken.push(milliseconds(toldNs - stop.endNs))
    else awake.push(milliseconds(toldNs - deadlineNs))
  }
  return { awake: distributionOf(awake), woken: distributionOf(woken), reasons }
}

/** A blocked event loop learns of a loss as late as a process that was stopped. */
export function blocksOf(notes: readonly Note[]): Stop[] {
  return notes
    .filter((note): note is BlockNote => note.note === 'block')
    .map(({ pid, start_ns, end_ns }) => ({
      pid,
      startNs: BigInt(start_ns),
      endNs: BigInt(end_ns),
    }))
}

export function distributionOf(values: readonly number[]): Distribution | undefined {
  if (values.length === 0) return undefined
  const sorted = values.toSorted((one, other) => one - other)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? NaN
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}

function milliseconds(ns: bigint): number {
  return Number(ns) / 1e6
}
