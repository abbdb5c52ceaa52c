/** `lab oversell` on a terminal. */
import {
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
  screen.print('')
  screen.table(result.rows, columnsOf(texts), texts)
  screen.heading(oversell.lessons)
  for (const { strategy } of result.rows) {
    const lesson = oversell.strategies[strategy]?.lesson ?? ''
    screen.print(`- ${nameOf(strategy)}${texts.punctuation.colon}${lesson}`)
  }
  for (const one of result.leftOut) screen.print(leftOutText(one, texts))
  return result
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
