/** What is printed: the schedule, how a run goes, and the verdicts. */
import type { Fault } from '@holdfast/stores/faults/catalogue'
import type { Distribution, Announcements } from './judge/announcements.js'
import type { JudgedRun } from './judge/judged-run.js'
import type { Verdict } from './judge/judgement.js'
import type { Progress } from './run/run.js'

/** How many violations of a run are printed; the report has more. */
const MOST_SHOWN = 5

export function showPlan(store: string, plan: readonly Fault[]): string {
  const lines = plan.map(
    ({ kind, atMs, forMs, client, server, byMs }) =>
      `${String(atMs).padStart(8)} ms  ${kind.padEnd(14)} for ${forMs} ms` +
      `  client ${client}  server ${server}${byMs === 0 ? '' : `  by ${byMs} ms`}`,
  )
  return [`${store}: ${plan.length} faults`, ...lines].join('\n')
}

export function showProgress(
  progress: Progress | undefined,
  { store, subject, seconds }: JudgedRun['options'],
): void {
  const text = progress
    ? progressLine(progress, `${store}${subject === 'holdfast' ? '' : ` ${subject}`}`, seconds)
    : ''
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else if (text !== '') console.error(text)
}

function progressLine(progress: Progress, name: string, seconds: number): string {
  const { phase, elapsedMs, leases, losses, waiting, faults, present } = progress
  const at =
    phase === 'torturing' ? `${Math.min(seconds, elapsedMs / 1000).toFixed(0)}/${seconds} s` : phase
  const broken = present.length === 0 ? '' : ` · now: ${present.join(', ')}`
  return `${name} · ${at} · ${leases} leases · ${losses} lost · ${waiting} waiting · ${faults} faults${broken}`
}

export function showVerdicts({ options, outcome, judgement }: JudgedRun): string {
  const { store, subject, seconds, seed, kinds } = options
  const { verdicts, findings, operations, leases, losses, announcements, drainMs } = judgement
  const { adopted, ofKilled } = judgement.adoptions
  const title =
    `${store}${subject === 'holdfast' ? '' : `, ${subject}`}: ${seconds} s, seed ${seed}, ` +
    `${outcome.chronicle.happenings.length} faults (${kinds.join(', ') || 'none'})`
  const figures =
    `  ${leases} leases (${adopted} adopted, ${ofKilled} of them of a killed process), ` +
    `${operations} operations, ${losses} losses announced; ` +
    `the longest wait after healing took ${drainMs.toFixed(0)} ms`
  const shown = findings
    .toSorted((one, other) => Number(other.promised) - Number(one.promised))
    .slice(0, MOST_SHOWN)
    .map(({ kind, message, promised }) => `  ${promised ? 'broken' : 'seen'} ${kind}: ${message}`)
  const more = findings.length > shown.length ? [`  … ${findings.length - shown.length} more`] : []
  return [
    '',
    title,
    figures,
    ...announcementLines(announcements),
    ...verdicts.map(verdictLine),
    ...shown,
    ...more,
  ].join('\n')
}

function verdictLine({ property, outcome, violations, because }: Verdict): string {
  const text = {
    kept: 'kept',
    broken: `BROKEN: ${violations} violations`,
    waived: `not promised, seen ${violations} times: ${because ?? ''}`,
    none: 'cannot be seen here',
  }[outcome]
  return `  ${property.padEnd(14)} ${text}`
}

function announcementLines({ awake, woken, reasons }: Announcements): string[] {
  const lines: string[] = []
  if (awake) lines.push(`  announced − deadline: ${distribution(awake)}`)
  if (woken) lines.push(`  announced − waking:   ${distribution(woken)}`)
  const why = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`)
  return why.length === 0 ? [] : [`  losses: ${why.join(', ')}`, ...lines]
}

export function distribution({ count, p50, p90, p99, max }: Distribution): string {
  return `p50 ${ms(p50)}, p90 ${ms(p90)}, p99 ${ms(p99)}, max ${ms(max)} (${count})`
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}
