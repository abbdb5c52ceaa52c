/** `lab oversell` on a terminal. */
import {
  codesOf,
  fill,
  leftOutText,
  milliseconds,
  Oversell,
  perSecond,
  SHOP_TITLES,
  verdictOf,
  type OversellResult,
  type OversellRow,
  type OversellSettings,
  type Texts,
  type Visit,
} from '../index.js'
import type { Column } from 'holdfast/internal'
import type { Screen } from './screen.js'
import { indent } from './strategies.js'

export async function showOversell(
  settings: OversellSettings,
  visit: Visit,
  screen: Screen,
  texts: Texts,
): Promise<OversellResult> {
  const { oversell } = texts
  screen.heading(oversell.title)
  screen.print(fill(oversell.intro, { ...settings, strategies: '' }))
  const run = new Oversell(settings, visit.services)
  visit.keep(() => run.end())
  const nameOf = (strategy: string): string => oversell.strategies[strategy]?.title ?? strategy
  let heading = ''
  const result = await run.run({
    began: (strategy, number, of) => {
      heading = `${number}/${of}  ${nameOf(strategy)}`
      screen.progress(heading)
    },
    sold: (_strategy, sold) =>
      screen.progress(`${heading}  ${oversell.columns.sold}${texts.punctuation.colon}${sold}`),
  })
  if (result.rows.length > 0) {
    screen.print('')
    screen.table(result.rows, columnsOf(texts), texts)
    printLessons(result.rows, screen, texts)
  }
  for (const one of result.leftOut) screen.print(leftOutText(one, texts))
  return result
}

/** More lessons than this do not show their code, which would be too long to read. */
const MOST_WITH_CODE = 6

function printLessons(rows: readonly OversellRow[], screen: Screen, texts: Texts): void {
  const { lessons, codeHint, strategies } = texts.oversell
  const ids = rows.map(({ strategy }) => strategy)
  const codes = ids.length > MOST_WITH_CODE ? undefined : codesOf(ids)
  screen.heading(lessons)
  for (const id of ids) {
    const { title = id, lesson = '' } = strategies[id] ?? {}
    screen.print(`- ${title}${texts.punctuation.colon}${lesson}`)
    if (codes) screen.draw(`\n${indent(codes.get(id) ?? '')}\n`)
  }
  if (!codes) screen.print(`\n${codeHint}`)
}

function columnsOf(texts: Texts): Column<OversellRow>[] {
  const { columns, strategies } = texts.oversell
  return [
    { title: columns.strategy, cell: ({ strategy }) => strategies[strategy]?.title ?? strategy },
    {
      title: columns.verdict,
      cell: (row) => `${row.damaged ? '✗' : '✓'} ${verdictOf(row, texts)}${unexpected(row, texts)}`,
    },
    { title: columns.shop, cell: ({ shop }) => SHOP_TITLES[shop], optional: 1 },
    { title: columns.sold, cell: ({ sold }) => String(sold), right: true },
    { title: columns.oversold, cell: ({ oversold }) => dashed(oversold), right: true },
    {
      title: columns.lost,
      cell: ({ lostUpdates }) => dashed(lostUpdates),
      right: true,
      optional: 3,
    },
    {
      title: columns.unserved,
      cell: ({ unserved }) => dashed(unserved),
      right: true,
      optional: 4,
    },
    { title: columns.time, cell: ({ ms }) => milliseconds(ms), right: true, optional: 5 },
    {
      title: columns.rate,
      cell: ({ ordersPerSecond }) => perSecond(ordersPerSecond),
      right: true,
      optional: 6,
    },
    { title: columns.p99, cell: ({ p99Ms }) => milliseconds(p99Ms), right: true, optional: 2 },
  ]
}

function dashed(count: number): string {
  return count === 0 ? '–' : String(count)
}

function unexpected({ sound, damaged }: OversellRow, texts: Texts): string {
  const { open, close } = texts.punctuation
  return sound === damaged ? `${open}${texts.oversell.surprise}${close}` : ''
}
