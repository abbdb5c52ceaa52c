/** Tokens in the order of entering. */
import { excuseOfLate, type World } from './overlaps.js'
import type { Line, RunRecord, Witnessed } from './record.js'

export interface Disorder {
  readonly key: string
  readonly message: string
  readonly because: string | undefined
}

interface Entry {
  readonly run: RunRecord
  readonly line: Line
  readonly token: bigint
}

/**
 * Of two that exclude each other the first to enter has the smaller token; so has one that entered
 * before another began.
 */
export function disordersOf({ runs, lines }: Witnessed, world: World): Disorder[] {
  const byId = new Map(runs.map((run) => [run.id, run]))
  const entries: Entry[] = lines.flatMap((line) => {
    const run = byId.get(line.run)
    return line.kind === 'ENTER' && run && line.token !== undefined
      ? [{ run, line, token: line.token }]
      : []
  })
  return entries.flatMap((later, index) => {
    const earlier = entries
      .slice(0, index)
      .find((one) => mustGrow(one, later) && one.token >= later.token)
    if (!earlier) return []
    const message = `Run ${later.run.id} entered "${later.run.wish.lock}" with token ${later.token}, after run ${earlier.run.id} with ${earlier.token}.`
    const because = excuseOfLate(later.run, later.line.atNs, world)
    return [{ key: later.run.wish.lock, message: `${message} ${because ?? ''}`.trim(), because }]
  })
}

function mustGrow(earlier: Entry, later: Entry): boolean {
  const [one, other] = [earlier.run.wish, later.run.wish]
  if (one.lock !== other.lock) return false
  if (earlier.line.atNs + TICK_NS < later.run.startNs) return true
  return one.lock !== 'permits' && !(one.shared && other.shared)
}

const TICK_NS = 10_000_000n
