/**
 * A report on one page: what was promised and seen in each run, drawn, with the piece of history
 * that shows each violation.
 */
import { formatEvent, storyOf, type Hold, type Story } from '@holdfast/conformance'
import { FAULTS } from '@holdfast/stores/faults/catalogue'
import type { JudgedRun } from '../judge/judged-run.js'
import type { Finding, Judgement } from '../judge/judgement.js'
import { commandOf } from '../judge/reproduce.js'
import { distribution } from '../show.js'
import { storeOf } from '@holdfast/stores'
import { draw, type Scene } from './drawing.js'
import { figuresOf } from './figures.js'
import { escape, page, table } from './html.js'

/** How much of a run is drawn as a whole; later violations are drawn by themselves. */
const DRAWN_NS = 60_000_000_000n
const MOST_FINDINGS = 40
const MOST_EVENTS = 60
const AROUND_NS = 300_000_000n
/** How wide a violation's own picture is, in pixels. */
const PICTURE = 900

export function report(runs: readonly JudgedRun[]): string {
  const broken = runs.filter(({ judgement }) =>
    judgement.verdicts.some(({ outcome }) => outcome === 'broken'),
  )
  const summary =
    broken.length === 0
      ? '<p class="kept">Every promise was kept.</p>'
      : `<p class="broken">Promises were broken in ${broken.length} of ${runs.length} runs.</p>`
  const head = `<h1>Torture</h1>${summary}${overview(runs)}${KEY}`
  return page('Holdfast: torture', head + runs.map(section).join('\n'))
}

const KEY = `<p class="key quiet">Timelines: <span style="background:var(--hold)"></span>held
<span style="background:var(--shared)"></span>shared <span style="background:var(--lost)"></span>lost, or given up as lost
<span style="border-top:2px solid var(--quiet)"></span>waiting <span style="border:2px solid var(--bad)"></span>violation.
The number in a bar is the end of its fencing token. Point at anything to read more.</p>`

function overview(runs: readonly JudgedRun[]): string {
  const rows = runs.map((ran, index) => {
    const { options, outcome, judgement } = ran
    return [
      `<a href="#run-${index}">${escape(nameOf(ran))}</a>`,
      String(options.seed),
      String(outcome.chronicle.happenings.length),
      String(judgement.leases),
      String(judgement.operations),
      countOf(judgement, true),
      countOf(judgement, false),
    ]
  })
  const head = [
    'run',
    'seed',
    'faults',
    'leases',
    'operations',
    'promises broken',
    'not promised, seen',
  ]
  return table(head, rows)
}

function countOf({ findings }: Judgement, promised: boolean): string {
  const its = findings.filter((finding) => finding.promised === promised)
  const text = its.length === 0 ? 'none' : String(its.length)
  return `<span class="${its.length === 0 ? 'kept' : promised ? 'broken' : 'waived'}">${text}</span>`
}

function nameOf({ options: { store, subject } }: JudgedRun): string {
  return subject === 'holdfast' ? storeOf(store).title : `${subject} on ${storeOf(store).title}`
}

function section(ran: JudgedRun, index: number): string {
  const { options, outcome, judgement } = ran
  const story = storyOf(outcome.events)
  return [
    `<h2 id="run-${index}">${escape(nameOf(ran))}</h2>`,
    `<p><code>${escape(commandOf(options))}</code></p>`,
    verdicts(judgement),
    announcements(judgement),
    figures(ran, story),
    timeline(ran, story),
    violations(ran, story),
  ].join('\n')
}

function verdicts({ verdicts: all }: Judgement): string {
  const words = {
    kept: 'kept',
    broken: 'broken',
    waived: 'not promised',
    none: 'cannot be seen here',
  }
  const rows = all.map(({ property, outcome, violations: seen, because }) => [
    property,
    `<span class="${outcome}">${words[outcome]}</span>`,
    outcome === 'none' ? '' : String(seen),
    escape(because ?? ''),
  ])
  return table(['promise', 'verdict', 'violations', 'why it is not promised'], rows)
}

function announcements({ announcements: { awake, woken, reasons } }: Judgement): string {
  const rows: string[][] = []
  if (awake) rows.push(['announced − deadline', distribution(awake)])
  if (woken)
    rows.push([
      'announced − waking, of processes that were stopped at the deadline',
      distribution(woken),
    ])
  if (rows.length === 0) return '<p class="quiet">No lease was lost.</p>'
  const why = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`)
  return `<h3>When losses were announced</h3><p class="quiet">${why.join(', ')}</p>${table(['', 'distribution'], rows)}`
}

function figures(ran: JudgedRun, story: Story): string {
  const rows = figuresOf(ran, story).map((figure) => [
    `<span title="${escape(FAULTS[figure.kind].title)}">${figure.kind}</span>`,
    String(figure.count),
    `${(figure.totalMs / 1000).toFixed(1)} s`,
    String(figure.leases),
    String(figure.refused),
    String(figure.losses),
    String(figure.violations),
  ])
  if (rows.length === 0) return ''
  const head = [
    'fault',
    'times',
    'in all',
    'leases begun meanwhile',
    'wishes that failed',
    'losses',
    'violations until a TTL later',
  ]
  return `<h3>By fault</h3>${table(head, rows)}`
}

function timeline({ outcome, judgement }: JudgedRun, story: Story): string {
  const { startNs, watchedNs, chronicle } = outcome
  const toNs = watchedNs - startNs > DRAWN_NS ? startNs + DRAWN_NS : watchedNs
  const scene: Scene = {
    fromNs: startNs,
    toNs,
    originNs: startNs,
    holds: story.holds,
    waits: story.waits,
    happenings: chronicle.happenings,
    marked: markedBy(judgement.findings, story.holds),
    pixelsPerSecond: 120,
  }
  const cut =
    toNs < watchedNs
      ? ` <span class="quiet">(the first ${Number(DRAWN_NS / 1_000_000_000n)} s)</span>`
      : ''
  return `<h3>Timeline${cut}</h3>${draw(scene)}`
}

function violations(ran: JudgedRun, story: Story): string {
  const { findings } = ran.judgement
  if (findings.length === 0) return ''
  const sorted = findings.toSorted((one, other) => Number(other.promised) - Number(one.promised))
  const more =
    findings.length > MOST_FINDINGS
      ? `<p class="quiet">${findings.length - MOST_FINDINGS} more are not shown.</p>`
      : ''
  return `<h3>Violations</h3>${sorted
    .slice(0, MOST_FINDINGS)
    .map((finding) => violation(ran, story, finding))
    .join('')}${more}`
}

function violation(ran: JudgedRun, story: Story, finding: Finding): string {
  const { kind, message, promised, events } = finding
  const mark = promised
    ? '<span class="broken">broken</span>'
    : '<span class="waived">not promised</span>'
  const shown = events.slice(0, MOST_EVENTS).map(formatEvent)
  const left = events.length > shown.length ? `\n… ${events.length - shown.length} more events` : ''
  const piece = shown.length === 0 ? '' : `<pre>${escape(shown.join('\n') + left)}</pre>`
  const open = promised ? ' open' : ''
  return `<details${open}><summary>${mark} ${escape(kind)}: ${escape(message)}</summary>${picture(ran, story, finding)}${piece}</details>`
}

/** The lock around the time of the violation. */
function picture({ outcome }: JudgedRun, story: Story, finding: Finding): string {
  const marked = markedBy([finding], story.holds)
  const [first] = marked
  if (!first) return ''
  let [fromNs, toNs] = [first.startNs, first.startNs]
  for (const { startNs } of marked) {
    if (startNs < fromNs) fromNs = startNs
    if (startNs > toNs) toNs = startNs
  }
  fromNs -= AROUND_NS
  toNs += AROUND_NS
  const ofLock = (one: { readonly key: string }): boolean => one.key === finding.key
  return draw({
    fromNs,
    toNs,
    originNs: outcome.startNs,
    holds: story.holds.filter(ofLock),
    waits: story.waits.filter(ofLock),
    happenings: outcome.chronicle.happenings,
    marked,
    pixelsPerSecond: PICTURE / (Number(toNs - fromNs) / 1e9),
  })
}

/** The holds that the pieces of history are about. */
function markedBy(findings: readonly Finding[], holds: readonly Hold[]): Set<Hold> {
  const begun = new Set<string>()
  for (const { events } of findings) {
    for (const { f, type, pid, client, key, t_ns } of events) {
      if (f === 'acquire' && type === 'ok') begun.add(`${pid} ${client} ${key} ${t_ns}`)
    }
  }
  return new Set(
    holds.filter(({ pid, client, key, startNs }) =>
      begun.has(`${pid} ${client} ${key} ${startNs}`),
    ),
  )
}
