/** All locks in a window of rows. What the server has not sent yet is drawn as placeholders. */
import { useEffect, useRef } from 'preact/hooks'
import type { ConsoleView, Table as TableView } from '../../../holdfast/src/console/view.js'
import type { Sort } from '../look/query.js'
import { AHEAD, windowRows } from '../look/looker.js'
import { useAge } from '../format/duration.js'
import { useCount, useTexts } from '../text/language.js'
import { RowOfLock } from './row.js'
import { Section, type Shown } from './small.js'

/** Rows beside the visible ones from which on others are asked for. */
const MARGIN = AHEAD / 3
/** From here on the page says how old the oldest row is. */
const OLD_WALK_MS = 10_000
const COLUMNS: readonly {
  readonly name: keyof ReturnType<typeof useTexts>['table']['columns']
  readonly sort?: Sort
}[] = [
  { name: 'name', sort: 'name' },
  { name: 'holder' },
  { name: 'held', sort: 'held' },
  { name: 'ttl', sort: 'ttl' },
  { name: 'waiters', sort: 'waiters' },
  { name: 'wait', sort: 'wait' },
]

interface TableProps extends Shown {
  readonly view: ConsoleView
  readonly scrollTo: (offset: number) => void
}

export function Table({ view, scrollTo, ...shown }: TableProps) {
  const texts = useTexts().table
  const { table, totals } = view
  return (
    <Section name="locks" heading={texts.heading} note={<Found table={table} totals={totals} />}>
      <Search {...shown} />
      {table.total === 0 && shown.query.search !== '' ? (
        <p class="empty">
          {totals.isComplete
            ? texts.notFound(shown.query.search)
            : texts.notFoundSoFar(shown.query.search)}
        </p>
      ) : (
        <Window table={table} scrollTo={scrollTo} refreshMs={view.refreshMs} {...shown} />
      )}
    </Section>
  )
}

function Found({ table, totals }: Pick<ConsoleView, 'table' | 'totals'>) {
  const texts = useTexts().table
  const count = useCount()
  const age = useAge()
  const { search, total } = table
  const { locks, walkMs = 0, isComplete } = totals
  const all = isComplete ? texts.count : texts.countSoFar
  const some = isComplete ? texts.found : texts.foundSoFar
  return (
    <>
      {search === '' ? all(count(total)) : some(count(total), count(locks))}
      {walkMs > OLD_WALK_MS && ` · ${texts.walked(age(walkMs))}`}
    </>
  )
}

function Search({ query, navigate }: Shown) {
  const texts = useTexts().table
  return (
    <div class="search" role="search">
      <input
        id="search"
        type="search"
        value={query.search}
        placeholder={texts.search}
        aria-label={texts.search}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => navigate({ search: currentTarget.value }, 'replace')}
      />
      <kbd aria-hidden="true">/</kbd>
    </div>
  )
}

interface WindowProps extends Shown {
  readonly table: TableView
  readonly refreshMs: number
  readonly scrollTo: (offset: number) => void
}

function Window({ table, scrollTo, refreshMs, query, navigate }: WindowProps) {
  const texts = useTexts().table
  const box = useRef<HTMLDivElement>(null)
  const { rows, offset, total } = table
  const look = (): void => {
    if (box.current !== null) scrollTo(offsetFor(box.current, table))
  }
  // Another order begins at its top.
  useEffect(() => box.current?.scrollTo(0, 0), [query.search, query.sort, query.store])
  return (
    <div class="window" ref={box} onScroll={look}>
      <table role="table" aria-rowcount={total + 1} aria-label={texts.heading}>
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={1}>
            {COLUMNS.map(({ name, sort }) => (
              <Heading key={name} name={name} sort={sort} query={query} navigate={navigate} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          <Spacer rows={offset} />
          {rows.map((row, index) => (
            <RowOfLock
              key={row.lock}
              row={row}
              index={offset + index}
              refreshMs={refreshMs}
              query={query}
              navigate={navigate}
            />
          ))}
          <Spacer rows={total - offset - rows.length} />
        </tbody>
      </table>
    </div>
  )
}

/** Stands for rows that are not here yet. Its background draws them, so they scroll with it. */
function Spacer({ rows }: { rows: number }) {
  if (rows <= 0) return null
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={COLUMNS.length} style={{ height: `calc(${rows} * var(--row))` }} />
    </tr>
  )
}

interface HeadingProps extends Shown {
  readonly name: (typeof COLUMNS)[number]['name']
  readonly sort: Sort | undefined
}

function Heading({ name, sort, query, navigate }: HeadingProps) {
  const texts = useTexts().table
  const text = texts.columns[name]
  if (sort === undefined) {
    return (
      <th role="columnheader" class={name} scope="col">
        {text}
      </th>
    )
  }
  const isSorted = query.sort === sort
  return (
    <th role="columnheader" class={name} scope="col" aria-sort={isSorted ? order(sort) : 'none'}>
      <button
        type="button"
        title={texts.sortBy(text)}
        onClick={() => navigate({ sort }, 'replace')}
      >
        {text}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (order(sort) === 'ascending' ? '↑' : '↓') : ''}
        </span>
      </button>
    </th>
  )
}

/** The server sorts names and what is left from the least on, and all others from the most. */
function order(sort: Sort): 'ascending' | 'descending' {
  return sort === 'name' || sort === 'ttl' ? 'ascending' : 'descending'
}

/** Returns the first row to ask for, which is that of now while all visible rows are here. */
function offsetFor(box: HTMLElement, { offset, rows, total }: TableView): number {
  const heightOfRow = Number.parseFloat(getComputedStyle(box).getPropertyValue('--row')) || 1
  const first = Math.floor(box.scrollTop / heightOfRow)
  const last = Math.ceil((box.scrollTop + box.clientHeight) / heightOfRow)
  const isBefore = offset > 0 && first - MARGIN < offset
  const isAfter = offset + rows.length < total && last + MARGIN > offset + rows.length
  if (!isBefore && !isAfter) return offset
  const size = windowRows()
  return Math.max(0, Math.min(Math.floor((first + last - size) / 2), total - size))
}
