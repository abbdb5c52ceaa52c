/** The first screen of the guarantees page: each store in a row, in plain words. */
import { FAULT_KINDS, type FaultKind } from '@holdfast/stores/faults/catalogue'
import { STORE_NAMES, storeOf } from '@holdfast/stores'
import type { Property } from '../promised.js'
import type { RecordedCell, Results } from '../record.js'
import { countOf, minutes, table } from './markdown.js'

/** The faults that some promise does not survive, as a reader calls them. */
const PLAIN: Readonly<Partial<Record<FaultKind, string>>> = {
  stall: 'a stopped server',
  'server-kill': 'a killed server',
  'restart-empty': 'a restart without data',
  flush: 'deleted keys',
  'clock-forward': 'a clock set forward',
  'clock-back': 'a clock set back',
  failover: 'a failover that loses writes',
  'quorum-loss': 'a lost majority',
}

const FAILOVERS: readonly FaultKind[] = ['stall', 'server-kill', 'failover', 'primary-kill']

/** What the columns of the table are about. */
const SAFETY: readonly Property[] = ['exclusion', 'held', 'loss-announced', 'release', 'forgotten']
const TOKENS: readonly Property[] = ['tokens', 'counter']
const PROGRESS: readonly Property[] = ['liveness', 'ghost', 'error']

const TEXT = `On every store and under every fault, the client learns of a loss from its own clock, at the
deadline of the lease. A process that was stopped learns of it in its first ticks. A grant without
renewals ends. What remains is what the store itself can do to a lock:`

export function summary(results: ReadonlyMap<string, Results>): string {
  const head = ['store', 'two holders after', 'tokens shrink after', 'waiters stay after', 'tried']
  const rows = STORE_NAMES.map((name) => [
    storeOf(name).title,
    ...[SAFETY, TOKENS, PROGRESS].map((properties) => causes(name, properties)),
    tried(Object.values(results.get(name)?.cells ?? {})),
  ])
  return `${TEXT}\n\n${table(head, rows)}\n\n${legend()}\n\n${total(results)}`
}

function legend(): string {
  return `- **Two holders after**: faults after which two clients may believe that they have the lock. A resource
  that checks fencing tokens is safe then, too, unless the next column names the same fault.
- **Tokens shrink after**: faults after which a newer grant may have a smaller token, so that a
  fence refuses the wrong one. On Redis that takes both: deleted keys and a clock set back.
- **Waiters stay after**: faults after which a waiter is not served soon, or a lock stays taken for
  longer than its TTL.
- –: none of the faults that were tried.`
}

/** Returns the faults under which one of the properties is not promised. */
function causes(store: string, properties: readonly Property[]): string {
  const found = FAULT_KINDS.filter((kind) => {
    const cell = storeOf(store).torture.promises[kind]
    return cell.verdict === 'not promised' && cell.without.some((one) => properties.includes(one))
  })
  const words = found.map((kind) => {
    // Where replicas take over, these faults are dangerous by that alone.
    const isFailover = found.includes('primary-kill') && FAILOVERS.includes(kind)
    return isFailover ? 'a failover' : (PLAIN[kind] ?? `\`${kind}\``)
  })
  return found.length === 0 ? '–' : [...new Set(words)].join(', ')
}

function tried(cells: readonly RecordedCell[]): string {
  if (cells.length === 0) return 'not yet'
  const sum = (of: (cell: RecordedCell) => number): number =>
    cells.reduce((all, cell) => all + of(cell), 0)
  const broken = sum((cell) => countOf(cell.broken))
  const kept = broken === 0 ? '' : `, ${broken} promises broken`
  return `${minutes(sum(({ seconds }) => seconds))}, ${sum(({ faults }) => faults)} faults${kept}`
}

function total(results: ReadonlyMap<string, Results>): string {
  const cells = STORE_NAMES.flatMap((store) => Object.values(results.get(store)?.cells ?? {}))
  const sum = (of: (cell: RecordedCell) => number): number =>
    cells.reduce((all, cell) => all + of(cell), 0)
  const shown = (of: (cell: RecordedCell) => number): string => sum(of).toLocaleString('en')
  const hours = (sum(({ seconds }) => seconds) / 3600).toFixed(1)
  return `**How it was tried.** Several processes used the library on real servers while faults struck:
${cells.length} recorded runs, ${hours} hours in all, ${shown(({ faults }) => faults)} faults, ${shown(({ leases }) => leases)} leases.
Violations of what is promised: ${shown(({ broken }) => countOf(broken))}; of what is not promised: ${shown(({ seen }) => countOf(seen))}.

Nearly every fault was driven alone, in one run with one seed, for 8 to 60 seconds. Then all faults
under which a store promises everything struck together, for ten minutes. Such runs find mistakes
and prove nothing; the [simulator](internals/simulation.md) tries far more orders of events.`
}
