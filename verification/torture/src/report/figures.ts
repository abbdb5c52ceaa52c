/** What happened under each kind of fault. */
import type { Story } from '@holdfast/conformance'
import type { AnyFaultKind } from '@holdfast/stores/faults/catalogue'
import type { JudgedRun } from '../judge/judged-run.js'
import { storeOf } from '@holdfast/stores'

export interface Figure {
  readonly kind: AnyFaultKind
  count: number
  totalMs: number
  leases: number
  /** Wishes that failed meanwhile: refused, timed out, or given up. */
  refused: number
  losses: number
  /** Violations that began while it lasted or within a TTL of its end. */
  violations: number
}

export function figuresOf(
  { options, outcome, judgement }: JudgedRun,
  { holds, waits }: Story,
): Figure[] {
  const figures = new Map<AnyFaultKind, Figure>()
  const ttlNs = BigInt(storeOf(options.store).torture.ttlMs) * 1_000_000n
  const announced = outcome.notes.flatMap((note) =>
    note.note === 'loss' ? [BigInt(note.announced_ns)] : [],
  )
  const broken = judgement.findings.flatMap(({ events }) => events.at(-1)?.t_ns ?? [])
  for (const { fault, startNs, endNs } of outcome.chronicle.happenings) {
    const { kind } = fault
    const figure = figures.get(kind) ?? {
      kind,
      count: 0,
      totalMs: 0,
      leases: 0,
      refused: 0,
      losses: 0,
      violations: 0,
    }
    figures.set(kind, figure)
    const within = (atNs: bigint | undefined, laterNs = 0n): boolean =>
      atNs !== undefined && startNs <= atNs && atNs <= endNs + laterNs
    figure.count += 1
    figure.totalMs += Number(endNs - startNs) / 1e6
    figure.leases += holds.filter(({ startNs: atNs }) => within(atNs)).length
    figure.refused += waits.filter(({ endNs: atNs }) => within(atNs)).length
    figure.losses += announced.filter((atNs) => within(atNs, ttlNs)).length
    figure.violations += broken.filter((atNs) => within(atNs, ttlNs)).length
  }
  return [...figures.values()].toSorted((one, other) => one.kind.localeCompare(other.kind))
}
