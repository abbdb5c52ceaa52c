/** The runs inside of runs, as far as the witness saw them. */
import type { Blow, Line, RunRecord } from './record.js'
import { innerId, innerWish } from './wish.js'

/** An inner run begins when the command of the run around it does. */
export function innerRunsOf(runs: readonly RunRecord[], lines: readonly Line[]): RunRecord[] {
  return runs.flatMap((run): RunRecord[] => {
    const { id, wish, pid, endNs } = run
    const find = (kind: Line['kind']): Line | undefined =>
      lines.find((line) => line.run === id && line.kind === kind)
    const [enter, exit] = [find('ENTER'), find('EXIT')]
    if (wish.inner === undefined || !enter) return []
    const inner = {
      id: innerId(id),
      wish: innerWish(wish, wish.inner),
      pid,
      startNs: enter.atNs,
      output: '',
    }
    if (exit) return [{ ...inner, endNs: exit.atNs, code: Number(exit.rest), blows: [] }]
    if (endNs === undefined) return [{ ...inner, blows: [] }]
    // The run around it has lost its lock, and has ended it.
    const blow: Blow = { part: 'wrapper', what: 'kill', startNs: endNs }
    return [{ ...inner, endNs, signal: 'SIGKILL', blows: [blow] }]
  })
}
