/**
 * What is promised under the faults of a run, by the descriptors of the stores. A run is judged by
 * what every fault in it leaves promised, and the guarantees page is made of the same cells.
 */
import { storeOf } from '@holdfast/stores'
import {
  FAULT_KINDS,
  isFaultKind,
  type AnyFaultKind,
  type FaultKind,
} from '@holdfast/stores/faults/catalogue'
import type { Property } from '@holdfast/stores/faults/cells'

export { PROPERTIES, PROPERTY_NAMES, type Property } from '@holdfast/stores/faults/cells'

/** Faults that a store can meet here. */
export function faultsOf(store: string): FaultKind[] {
  return FAULT_KINDS.filter((kind) => storeOf(store).torture.promises[kind].verdict !== 'absent')
}

/** The faults under which everything is promised: the default of a run. */
export function promisedFaults(store: string): FaultKind[] {
  return FAULT_KINDS.filter((kind) => storeOf(store).torture.promises[kind].verdict === 'promised')
}

export interface Waiver {
  readonly property: Property
  readonly because: string
}

/** What is not promised under these faults, and why. */
export function waivers(store: string, kinds: Iterable<AnyFaultKind>, fenced: boolean): Waiver[] {
  const found = new Map<Property, string>()
  for (const kind of new Set(kinds)) {
    if (!isFaultKind(kind)) continue
    const cell = storeOf(store).torture.promises[kind]
    if (cell.verdict !== 'not promised') continue
    for (const property of cell.without) found.set(property, cell.because)
  }
  // A lock without tokens leaves late writes to the resource, under any fault.
  if (!fenced)
    found.set('counter', 'there are no fencing tokens, so that a late write is not refused')
  const loss = found.get('exclusion')
  if (loss !== undefined && [...kinds].includes('clock-back') && [...kinds].some(isLoss)) {
    const because = 'a server that lost its counter begins from its clock, which was set back'
    found.set('tokens', because).set('counter', because)
  }
  return [...found].map(([property, because]) => ({ property, because }))
}

function isLoss(kind: AnyFaultKind): boolean {
  return kind === 'restart-empty' || kind === 'flush' || kind === 'failover'
}
