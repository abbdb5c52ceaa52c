/** Small pieces that several parts of the page have. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { CycleMember, HolderView, OwnerView } from '../../../holdfast/src/console/view.js'
import { useDuration } from '../format/duration.js'
import { escapeText, Foreign, LockName, shorten } from '../format/name.js'
import { addressOf, type Navigate } from '../look/hooks.js'
import type { Query } from '../look/query.js'
import { useCount, useTexts } from '../text/language.js'

/** What every part gets. */
export interface Shown {
  readonly query: Query
  readonly navigate: Navigate
}

/** A process: what it calls itself, and where an operator finds it. */
export function Process({ owner }: { owner: OwnerView }) {
  const texts = useTexts().process
  const count = useCount()
  if (owner.isForeign === true) return <span class="process foreign">{texts.foreign}</span>
  const { host, pid, label, localWaiters = 0 } = owner
  return (
    <span class="process">
      {label !== undefined && label !== '' && (
        <span class="label">
          <Foreign text={shorten(label)} />
        </span>
      )}{' '}
      <span class="where">
        <Foreign text={shorten(host)} /> {texts.pid} {pid}
      </span>{' '}
      {localWaiters > 0 && <span class="where">{texts.local(count(localWaiters))}</span>}
    </span>
  )
}

/** Whether a process gives a sign that it stands still, hangs, or has lost the store. */
export function isStill({ isSilent, isLate }: CycleMember): boolean {
  return isSilent === true || isLate === true
}

/** What shows that a process may stand still. */
export function Signs({ of: { isSilent, isLate } }: { of: CycleMember }) {
  const texts = useTexts()
  return (
    <>
      {isSilent === true && <Chip tone="danger">{texts.silent.chip}</Chip>}{' '}
      {isLate === true && <Chip tone="danger">{texts.lock.late}</Chip>}
    </>
  )
}

/** A link that opens one lock. It has an address, so it opens in a tab of its own too. */
export function LockLink({ lock, query, navigate }: Shown & { lock: string }) {
  const texts = useTexts().process
  if (lock === '') return <span class="foreign">{texts.foreignLock}</span>
  return (
    <a
      class="lock-link"
      title={shorten(lock) === lock ? undefined : escapeText(lock)}
      href={addressOf(query, { lock })}
      onClick={(event) => {
        if (isOfBrowser(event)) return
        event.preventDefault()
        navigate({ lock })
      }}
    >
      <LockName name={shorten(lock)} />
    </a>
  )
}

/** Returns whether a click asks for another tab or window. */
export function isOfBrowser(event: MouseEvent): boolean {
  return event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0
}

/** How much of a lease is left, as a bar where its TTL is known. */
export function Ttl({ holder }: { holder: HolderView }) {
  const duration = useDuration()
  const texts = useTexts()
  const { remainingMs, ttlMs, isLate, isStolen } = holder
  const left = duration(Math.max(0, remainingMs))
  if (ttlMs === undefined) return <span class="ttl-text">{left}</span>
  const part = Math.min(1, Math.max(0, remainingMs / ttlMs))
  const state = isStolen ? 'stolen' : isLate ? 'late' : ''
  return (
    <span class={`ttl ${state}`} title={texts.table.ofTtl(left, duration(ttlMs))}>
      <span class="fill" style={{ width: `${(part * 100).toFixed(1)}%` }} />
      <span class="ttl-text">{left}</span>
    </span>
  )
}

export function Chip({ tone = '', children }: { tone?: string; children: ComponentChildren }) {
  return <span class={`chip ${tone}`}>{children}</span>
}

/** Copies a text, and says whether it did. */
export function CopyButton({ text, about }: { text: string; about: string }) {
  const texts = useTexts().copy
  const [state, setState] = useState<keyof typeof texts>('copy')
  const copy = (): void => {
    // Browsers have a clipboard on https and on loopback alone.
    if (!('clipboard' in navigator)) return setState('failed')
    navigator.clipboard.writeText(text).then(
      () => setState('copied'),
      () => setState('failed'),
    )
  }
  return (
    <button
      type="button"
      class={`quiet copy ${state}`}
      aria-label={`${texts.copy}: ${about}`}
      onClick={copy}
      onBlur={() => setState('copy')}
    >
      {texts[state]}
    </button>
  )
}

/** A section of the page with its heading. */
export function Section(props: {
  name: string
  heading: string
  note?: ComponentChildren
  children: ComponentChildren
}) {
  const id = `heading-${props.name}`
  return (
    <section class={`section ${props.name}`} aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{props.heading}</h2>
        {props.note !== undefined && <span class="note">{props.note}</span>}
      </div>
      {props.children}
    </section>
  )
}
