/** Judges a run of the torture over the command line: a verdict for each promise. */
import { describeGhost } from '../judge/judge.js'
import type { Finding, Judgement, Verdict } from '../judge/judgement.js'
import { waivers } from '../promised.js'
import type { Outcome, RunOptions } from '../run/run.js'
import { traceOf, wrongExitOf } from './exit-codes.js'
import { disordersOf, type Disorder } from './order.js'
import { overlapsOf } from './overlaps.js'
import { RUN_PROPERTY_NAMES, type RunProperty } from './promised.js'
import type { RunRecord, Witnessed } from './record.js'
import { shapeOf } from './shape.js'
import { longestHoldMs } from './wish.js'

/** With what the witness saw. */
export type WitnessedOutcome = Outcome & { readonly witnessed: Witnessed }

type Found = Omit<Finding, 'promised'> & {
  readonly property: RunProperty
  readonly promised?: boolean
}

/** What wrappers print on stderr begins so. */
const MESSAGE = /^holdfast: /
const LOST = 74

export function judgeCommandLine(
  { store, kinds }: Pick<RunOptions, 'store' | 'kinds'>,
  outcome: WitnessedOutcome,
): Judgement {
  const { witnessed, chronicle, ghosts } = outcome
  const { runs, lines } = witnessed
  const fenced = lines.some(({ token }) => token !== undefined)
  const waived = new Map(
    waivers(store, kinds, fenced).map((one) => [one.property as string, one.because]),
  )
  // An overlap needs a cause of its own.
  waived.delete('exclusion')
  const found = [
    ...raced(outcome, store),
    ...waits(outcome, store),
    ...runs.flatMap((run) => ofRun(run, outcome)),
    ...witnessed.leftOver.map((line) => plain('left-over', `There was still: ${line}`)),
    ...ghosts.map((ghost) => plain('ghost', describeGhost(ghost, []), ghost.key)),
    ...chronicle.troubles.map(({ message }) => plain('error', message)),
  ]
  const findings = found.map((one) => ({
    ...one,
    promised: (one.promised ?? true) && !waived.has(one.property),
  }))
  return {
    verdicts: RUN_PROPERTY_NAMES.map((property) =>
      verdictOf(property, findings, waived.get(property), property === 'tokens' && !fenced),
    ),
    findings,
    announcements: { awake: undefined, woken: undefined, reasons: {} },
    operations: runs.length,
    leases: lines.filter(({ kind }) => kind === 'ENTER').length,
    adoptions: { adopted: 0, ofKilled: 0 },
    losses: runs.filter(({ code }) => code === LOST).length,
    drainMs: Math.max(0, ...runs.map((run) => waitedMs(run, outcome))),
  }
}

function raced(
  { witnessed, chronicle: { happenings } }: WitnessedOutcome,
  store: RunOptions['store'],
): Found[] {
  const { ttlMs, newest } = shapeOf(store)
  const world = { store, ttlMs, newest, happenings }
  return [
    ...overlapsOf(witnessed, world).map((one) => foundOf('exclusion', one)),
    ...disordersOf(witnessed, world).map((one) => foundOf('tokens', one)),
  ]
}

/** What has a cause that the documentation names is counted, and breaks no promise. */
function foundOf(property: RunProperty, { message, key, because }: Disorder): Found {
  return { ...plain(property, message, key), promised: because === undefined }
}

function waits(outcome: WitnessedOutcome, store: RunOptions['store']): Found[] {
  const { runs } = outcome.witnessed
  const { boundMs, ttlMs } = shapeOf(store)
  const atEnd = runs.filter(({ endNs }) => endNs === undefined || endNs > outcome.healedNs)
  const mostMs = boundMs + atEnd.length * longestHoldMs(ttlMs)
  return runs.flatMap((run) => {
    if (run.endNs === undefined)
      return [plain('liveness', `Run ${run.id} did not end.`, run.wish.lock)]
    const ms = waitedMs(run, outcome)
    if (ms <= mostMs) return []
    return [
      plain(
        'liveness',
        `Run ${run.id} waited for ${ms.toFixed(0)} ms after healing.`,
        run.wish.lock,
      ),
    ]
  })
}

/** From healing, or its own start after that, until it entered or ended. */
function waitedMs(run: RunRecord, { healedNs, watchedNs, witnessed }: WitnessedOutcome): number {
  const entered = witnessed.lines.find((line) => line.run === run.id && line.kind === 'ENTER')
  const untilNs = entered?.atNs ?? run.endNs ?? watchedNs
  const sinceNs = run.startNs > healedNs ? run.startNs : healedNs
  return Number(untilNs - sinceNs) / 1e6
}

function ofRun(run: RunRecord, { witnessed, chronicle }: WitnessedOutcome): Found[] {
  const trace = traceOf(witnessed.lines.filter(({ run: id }) => id === run.id))
  const wrong = wrongExitOf(run, trace, chronicle.happenings)
  const strange = run.output.split('\n').find((line) => line !== '' && !MESSAGE.test(line))
  return [
    ...(wrong === undefined ? [] : [plain('exit-code', wrong, run.wish.lock)]),
    ...(strange === undefined
      ? []
      : [plain('error', `Run ${run.id} printed: ${strange}`, run.wish.lock)]),
  ]
}

function plain(property: RunProperty, message: string, key = ''): Found {
  return { property, kind: property, key, message, events: [] }
}

function verdictOf(
  property: RunProperty,
  findings: readonly Finding[],
  because: string | undefined,
  blind: boolean,
): Verdict {
  const its = findings.filter((finding) => finding.property === property)
  if (because !== undefined) return { property, outcome: 'waived', violations: its.length, because }
  const violations = its.filter(({ promised }) => promised).length
  return { property, outcome: violations > 0 ? 'broken' : blind ? 'none' : 'kept', violations }
}
