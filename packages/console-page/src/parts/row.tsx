/** One row of the table. */
import type { Row } from '../../../holdfast/src/console/view.js'
import { useAge, useDuration } from '../format/duration.js'
import { useCount, useTexts } from '../text/language.js'
import { Chip, isOfBrowser, LockLink, Process, Ttl, type Shown } from './small.js'

/** An age in looks from which on a row shows it. Rows without waiters are looked at in turn. */
const OLD_LOOKS = 5

interface RowProps extends Shown {
  readonly row: Row
  readonly index: number
  readonly refreshMs: number
}

export function RowOfLock({ row, index, refreshMs, query, navigate }: RowProps) {
  const { lock, holders, marks } = row
  const duration = useDuration()
  const texts = useTexts()
  const [holder] = holders
  const age = useAge()
  const isOpen = query.lock === lock
  const isOld = row.ageMs > OLD_LOOKS * refreshMs
  return (
    <tr
      role="row"
      aria-rowindex={index + 2}
      class={`${toneOf(marks)} ${isOpen ? 'open' : ''} ${isOld ? 'old' : ''}`}
      title={isOld ? texts.table.seen(age(row.ageMs)) : undefined}
      aria-current={isOpen ? 'true' : undefined}
      onClick={(event) => {
        const isSelecting = getSelection()?.isCollapsed === false
        if (!isOfBrowser(event) && !event.defaultPrevented && !isSelecting) navigate({ lock })
      }}
    >
      <td role="cell" class="name">
        <div class="name-line">
          <LockLink lock={lock} query={query} navigate={navigate} />
          {row.kind !== 'mutex' && <Chip>{texts.kinds[row.kind]}</Chip>}
          {marks[0] !== undefined && <Chip tone={toneOf(marks)}>{texts.marks[marks[0]]}</Chip>}
        </div>
      </td>
      <td role="cell" class="holder">
        <HolderOf row={row} />
      </td>
      <td role="cell" class="held number">
        {holder !== undefined && duration(holder.heldMs)}
      </td>
      <td role="cell" class="ttl">
        {holder !== undefined && <Ttl holder={holder} />}
      </td>
      <WaitsOf row={row} />
    </tr>
  )
}

function WaitsOf({ row: { waiterCount, silentCount = 0, oldestWaitMs } }: { row: Row }) {
  const texts = useTexts()
  const duration = useDuration()
  const count = useCount()
  return (
    <>
      <td role="cell" class="waiters number">
        {waiterCount > 0 && (
          <span title={texts.table.waiting(count(waiterCount))}>{count(waiterCount)}</span>
        )}
        {waiterCount > 0 && silentCount > 0 && ' + '}
        {silentCount > 0 && (
          <span class="silent" title={texts.silent.rowTitle(count(silentCount))}>
            {texts.silent.row(count(silentCount))}
          </span>
        )}
      </td>
      <td role="cell" class="wait number">
        {waiterCount > 0 && oldestWaitMs !== undefined && duration(oldestWaitMs)}
      </td>
    </>
  )
}

function HolderOf({ row: { holders, holderCount } }: { row: Row }) {
  const texts = useTexts().table
  const count = useCount()
  const [holder] = holders
  if (holder === undefined) return <span class="dim">{texts.free}</span>
  const others = holderCount - 1
  return (
    <>
      <Process owner={holder.owner} />
      {others > 0 && (
        <span class="others" title={texts.othersTitle(count(others))}>
          {texts.others(count(others))}
        </span>
      )}
    </>
  )
}

function toneOf(marks: Row['marks']): '' | 'danger' | 'warning' {
  if (marks.length === 0) return ''
  return marks.includes('deadlock') || marks.includes('late-renewal') ? 'danger' : 'warning'
}
