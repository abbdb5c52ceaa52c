/**
 * The schedule of faults: drawn from the seed before the run, so that the same seed gives the same
 * schedule.
 */
import { Dice } from '@holdfast/workload'
import {
  drawFault,
  FAULTS,
  type Fault,
  type AnyFaultKind,
  type FaultShape,
  type Lane,
} from '@holdfast/stores/faults/catalogue'

export interface PlanOptions extends FaultShape {
  readonly seed: number
  readonly seconds: number
  readonly kinds: readonly AnyFaultKind[]
}

/** How long a lane is quiet between two faults, on average and at most, in TTLs. */
const QUIET_TTLS = 0.6
const MOST_QUIET_TTLS = 2
/** Nothing breaks before anything is held. */
const FIRST_MS = 400

/** In the order of time. Each lane begins with one of each of its kinds. */
export function drawPlan(options: PlanOptions): Fault[] {
  const lanes = new Map<Lane, AnyFaultKind[]>()
  for (const kind of new Set(options.kinds)) {
    const { lane } = FAULTS[kind]
    lanes.set(lane, [...(lanes.get(lane) ?? []), kind])
  }
  const faults = [...lanes].flatMap(([lane, kinds]) => drawLane(lane, kinds, options))
  return faults.sort((one, other) => one.atMs - other.atMs)
}

function drawLane(lane: Lane, kinds: readonly AnyFaultKind[], options: PlanOptions): Fault[] {
  const { seed, seconds, ttlMs } = options
  const dice = Dice.named(seed, `faults of the ${lane}`)
  const endMs = seconds * 1000
  const first = shuffled(dice, kinds)
  const faults: Fault[] = []
  let atMs = FIRST_MS
  for (;;) {
    atMs += dice.exponential(QUIET_TTLS * ttlMs, MOST_QUIET_TTLS * ttlMs)
    const fault = drawFault(dice, first[faults.length] ?? dice.pick(kinds), atMs, options)
    atMs += fault.forMs + (FAULTS[fault.kind].quietTtls ?? 0) * ttlMs
    if (atMs > endMs && faults.length > 0) return faults
    faults.push(fault)
  }
}

function shuffled<T>(dice: Dice, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: dice.unit() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item)
}
