/**
 * Two commands at work at once. Each overlap needs a cause of its own that the documentation names.
 * That is a fault that was done to one of these two runs, or a server that forgot. Everything else
 * is a violation.
 */
import { storeOf } from '@holdfast/stores'
import { FAULTS, isFaultKind } from '@holdfast/stores/faults/catalogue'
import type { Happening } from '../run/chronicle.js'
import {
  PERMITS,
  type Blow,
  type Line,
  type Part,
  type RunRecord,
  type Witnessed,
} from './record.js'

export interface Overlap {
  readonly key: string
  readonly message: string
  /** Why it is excused; undefined when nothing excuses it. */
  readonly because: string | undefined
  readonly line: Line
}

export interface World {
  readonly store: string
  readonly ttlMs: number
  readonly happenings: readonly Happening[]
  /** The server has not the faults of older ones. */
  readonly newest: boolean
}

/** What has been woken strikes, or dies, within so long. */
const WAKING_NS = 300_000_000n
/** The witness knows its time to ten milliseconds. */
const TICK_NS = 10_000_000n

export function overlapsOf(witnessed: Witnessed, world: World): Overlap[] {
  const { runs, lines } = witnessed
  const byId = new Map(runs.map((run) => [run.id, run]))
  return lines.flatMap((line, index) => {
    const late = byId.get(line.run)
    if (line.kind !== 'OVERLAP' || !late) return []
    const { sure, holders } = holdersOf(line, late, lines.slice(0, index), byId)
    const because = excuse(late, holders, sure, line.atNs, world)
    const others = holders.map(({ id }) => id).join(', ') || 'no known run'
    const message = `Run ${late.id} entered "${late.wish.lock}" beside ${others}. ${because ?? 'Nothing that was done to them explains it.'}`
    return [{ key: late.wish.lock, message, because, line }]
  })
}

interface Holders {
  /** The kernel named them; otherwise they are all that it can have been. */
  readonly sure: boolean
  readonly holders: readonly RunRecord[]
}

function holdersOf(
  overlap: Line,
  late: RunRecord,
  before: readonly Line[],
  byId: ReadonlyMap<string, RunRecord>,
): Holders {
  const entered = new Map<string, { readonly run: RunRecord; readonly pid: number }>()
  // The line has the time of the refusal, and was written after a look that takes long.
  for (const { kind, run: id, pid, atNs } of before) {
    const run = byId.get(id)
    if (atNs > overlap.atNs + TICK_NS) continue
    if (kind === 'ENTER' && run?.wish.lock === late.wish.lock) entered.set(id, { run, pid })
  }
  const groups = new Set(overlap.rest.split(',').filter(Boolean).map(Number))
  const named = [...entered.values()].filter(({ pid }) => groups.has(pid))
  if (named.length > 0) return { sure: true, holders: named.map(({ run }) => run) }
  // It ended between the refusal and the look.
  for (const { kind, run, atNs } of before) {
    if (kind === 'EXIT' && atNs < overlap.atNs - TICK_NS) entered.delete(run)
  }
  const left = [...entered.values()].map(({ run }) => run)
  return { sure: false, holders: left.filter((run) => mayWork(run, overlap.atNs)) }
}

/** A wrapper that was not killed outlasts its command. */
function mayWork({ endNs, blows }: RunRecord, atNs: bigint): boolean {
  if (endNs === undefined || endNs + WAKING_NS > atNs) return true
  return blows.some(({ part, what }) => part === 'wrapper' && what === 'kill')
}

function excuse(
  late: RunRecord,
  holders: readonly RunRecord[],
  sure: boolean,
  atNs: bigint,
  world: World,
): string | undefined {
  const own = excuseOfLate(late, atNs, world)
  if (own !== undefined) return own
  const causes = holders.map((run) => causeOf(run, ['wrapper', 'guardian'], atNs, world))
  const unexplained = causes.filter((cause) => cause === undefined).length
  // With permits there is room beside some that nothing excuses.
  const room = late.wish.lock === 'permits' ? PERMITS - 1 : 0
  const explained = sure ? unexplained <= room : unexplained < causes.length
  return explained ? causes.find((cause) => cause !== undefined) : undefined
}

/**
 * Why a run may enter late: only if nothing of it could act. Its wrapper, awake, asserts the lease
 * before it starts the command.
 */
export function excuseOfLate(late: RunRecord, atNs: bigint, world: World): string | undefined {
  return causeOf(late, ['wrapper', 'guardian', 'command'], atNs, world)
}

/**
 * @param parts those that could have kept the command from working on, if any of them was able to
 * act
 */
function causeOf(
  run: RunRecord,
  parts: readonly Part[],
  atNs: bigint,
  world: World,
): string | undefined {
  if (wereDisabled(run, parts, atNs)) {
    return `The ${parts.join(' and the ')} of run ${run.id} were all killed or stopped.`
  }
  const happening = world.happenings.find((one) => hasForgotten(run, one, atNs, world))
  return happening && `Before run ${run.id} could know: ${FAULTS[happening.fault.kind].title}.`
}

/**
 * Whether there was a moment, just before or at the overlap, at which none of the parts could act.
 */
function wereDisabled({ blows }: RunRecord, parts: readonly Part[], atNs: bigint): boolean {
  const its = parts.map((part) => blows.filter((blow) => blow.part === part))
  const fromNs = atNs - WAKING_NS
  const untilNs = atNs + TICK_NS
  const starts = [fromNs, ...its.flat().map(({ startNs }) => startNs)]
  return starts
    .filter((momentNs) => fromNs <= momentNs && momentNs <= untilNs)
    .some((momentNs) => its.every((of) => of.some((blow) => isInForce(blow, momentNs))))
}

function isInForce({ what, startNs, endNs }: Blow, atNs: bigint): boolean {
  if (what !== 'kill' && what !== 'stop') return false
  return startNs <= atNs && (what === 'kill' || endNs === undefined || atNs <= endNs)
}

/** The server may have lost the lease of an earlier run, which learns it at its next renewal. */
function hasForgotten(
  run: RunRecord,
  { fault: { kind }, startNs, endNs }: Happening,
  atNs: bigint,
  { store, ttlMs, newest }: World,
): boolean {
  if (!isFaultKind(kind)) return false
  const { promises, mended } = storeOf(store).torture
  if (newest && mended?.faults.includes(kind)) return false
  const cell = promises[kind]
  if (cell.verdict !== 'not promised' || !cell.without.includes('exclusion')) return false
  const overNs = endNs === 0n ? atNs : endNs
  const knownNs = overNs + BigInt(ttlMs) * 1_000_000n
  return run.startNs <= overNs && startNs <= atNs && atNs <= knownNs
}
