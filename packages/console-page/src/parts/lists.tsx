/** Problems of one kind, as a card with a line for each lock. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { HolderView, Trouble } from '../../../holdfast/src/console/view.js'
import { useDuration } from '../format/duration.js'
import { useCount, useTexts } from '../text/language.js'
import { LockLink, Process, type Shown } from './small.js'

type Items<Kind extends Trouble['kind']> = Shown & {
  readonly items: readonly Extract<Trouble, { kind: Kind }>[]
}

/** How many lines a card has at first. */
const FIRST_LINES = 5

export function LateRenewals({ items, ...shown }: Items<'late-renewal'>) {
  const texts = useTexts().late
  const duration = useDuration()
  return (
    <Card tone="danger" title={texts.title(items.length)} advice={texts.advice}>
      {items.map(({ lock, holder }) => (
        <Line key={holder.claimId} lock={lock} holder={holder} {...shown}>
          {holder.remainingMs > 0 ? texts.left(duration(holder.remainingMs)) : texts.ended}
        </Line>
      ))}
    </Card>
  )
}

export function OldWaiters(props: Items<'old-waiters'> & { waitWarnMs: number }) {
  const { items, waitWarnMs, ...shown } = props
  const texts = useTexts().old
  const duration = useDuration()
  const count = useCount()
  return (
    <Card
      tone="warning"
      title={texts.title(items.length, duration(waitWarnMs))}
      advice={texts.advice}
    >
      {items.map(({ lock, waiters, oldestMs, inTheWay }) => (
        <Line key={lock} lock={lock} holder={inTheWay} none={texts.free} {...shown}>
          {texts.wait(count(waiters), duration(oldestMs))}
        </Line>
      ))}
    </Card>
  )
}

export function StolenButHeld({ items, ...shown }: Items<'stolen-but-held'>) {
  const texts = useTexts().stolen
  const duration = useDuration()
  return (
    <Card tone="warning" title={texts.title(items.length)} advice={texts.advice}>
      {items.map(({ lock, holder }) => (
        <Line key={holder.claimId} lock={lock} holder={holder} {...shown}>
          {texts.left(duration(Math.max(0, holder.remainingMs)))}
        </Line>
      ))}
    </Card>
  )
}

export function Candidates({ items, ...shown }: Items<'no-leader'>) {
  const texts = useTexts().noLeader
  const duration = useDuration()
  const count = useCount()
  return (
    <Card tone="warning" title={texts.title(items.length)}>
      {items.map(({ lock, candidates, sinceMs }) => (
        <Line key={lock} lock={lock} {...shown}>
          {texts.candidates(count(candidates), duration(sinceMs))}
        </Line>
      ))}
    </Card>
  )
}

export function Card(props: {
  tone: 'danger' | 'warning'
  title: string
  advice?: string
  children: ComponentChildren[]
}) {
  const texts = useTexts()
  const count = useCount()
  const [isWhole, setWhole] = useState(false)
  const { tone, title, advice, children } = props
  const rest = children.length - FIRST_LINES
  return (
    <article class={`card ${tone}`}>
      <h3>{title}</h3>
      {advice !== undefined && <p class="advice">{advice}</p>}
      <ul class="lines">{isWhole ? children : children.slice(0, FIRST_LINES)}</ul>
      {rest > 0 && !isWhole && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {texts.more(count(rest))}
        </button>
      )}
    </article>
  )
}

interface LineProps extends Shown {
  readonly lock: string
  readonly holder?: HolderView | undefined
  /** What stands there without a holder. */
  readonly none?: string
  readonly children: ComponentChildren
}

function Line({ lock, holder, none = '', children, ...shown }: LineProps) {
  return (
    <li>
      <LockLink lock={lock} {...shown} />
      {holder === undefined ? <span class="dim">{none}</span> : <Process owner={holder.owner} />}
      <span class="figure">{children}</span>
    </li>
  )
}
