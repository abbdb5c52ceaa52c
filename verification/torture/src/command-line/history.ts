/**
 * What the witness saw, as a history: for the drawing and the file of a run. The witness judges,
 * not the checkers.
 */
import type { HistoryEvent, HistoryMode } from '@holdfast/conformance'
import { PERMITS, type RunRecord, type RunWish, type Witnessed } from './record.js'

export function historyOf({ runs, lines }: Witnessed): HistoryEvent[] {
  const byId = new Map(runs.map((run) => [run.id, run]))
  const begun = new Set<string>()
  const events: HistoryEvent[] = runs.map((run) => eventOf(run, run.startNs, 'acquire', 'invoke'))
  for (const { run: id, kind, atNs, token } of lines) {
    const run = byId.get(id)
    if (!run || kind === 'OVERLAP') continue
    const shown = token === undefined ? {} : { token }
    if (kind === 'EXIT') events.push(eventOf(run, atNs, 'release', 'invoke'))
    else events.push({ ...eventOf(run, atNs, 'acquire', 'ok'), ...shown })
    if (kind === 'ENTER') begun.add(id)
  }
  for (const run of runs) {
    if (run.endNs === undefined) continue
    if (!begun.has(run.id)) events.push(eventOf(run, run.endNs, 'acquire', 'fail'))
    else events.push(eventOf(run, run.endNs, 'release', 'ok'))
  }
  return events.sort((one, other) => Number(one.t_ns - other.t_ns))
}

function eventOf(
  { id, pid, wish }: RunRecord,
  t_ns: bigint,
  f: HistoryEvent['f'],
  type: HistoryEvent['type'],
): HistoryEvent {
  return { t_ns, pid, client: `r${id}`, key: wish.lock, f, type, ...claimOf(wish) }
}

function claimOf({ lock, shared }: RunWish): {
  mode: HistoryMode
  weight: number
  capacity: number
} {
  return {
    mode: shared || lock === 'permits' ? 'shared' : 'exclusive',
    weight: 1,
    capacity: CAPACITIES[lock],
  }
}

/** Readers have more room than they ever need. */
const CAPACITIES = {
  mutex: 1,
  shared: 1000,
  permits: PERMITS,
  'nest-a': 1,
  'nest-b': 1,
} as const
