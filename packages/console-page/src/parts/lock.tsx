/** One lock in full: who holds it, who waits, what stands in the way, and what may be done. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConsoleView, LockView } from '../../../holdfast/src/console/view.js'
import { useAge } from '../format/duration.js'
import { escapeText, LockName } from '../format/name.js'
import type { Api } from '../look/api.js'
import { useNow } from '../look/hooks.js'
import type { Look } from '../look/looker.js'
import { useCount, useTexts } from '../text/language.js'
import { Chain, Commands, History } from './lock-details.js'
import { Holders, Queue, type Target } from './lock-claims.js'
import { Chip, CopyButton, type Shown } from './small.js'
import { StealDialog } from './steal-dialog.js'

/** As in the style: the panel leaves no room for the table. */
const NARROW = '(max-width: 1079px)'

interface LockPanelProps extends Shown {
  readonly look: Look
  readonly view: ConsoleView
  readonly api: Api
  readonly close: () => void
}

export function LockPanel({ look, view, api, close, query, navigate }: LockPanelProps) {
  const texts = useTexts().lock
  const panel = useRef<HTMLElement>(null)
  const [target, setTarget] = useState<Target>()
  const name = query.lock ?? ''
  useEffect(() => {
    panel.current?.scrollTo(0, 0)
    // A narrow page shows the panel alone, so the focus cannot stay in the table.
    if (matchMedia(NARROW).matches) panel.current?.querySelector<HTMLElement>('.close')?.focus()
  }, [name])
  const isHere = look.asked?.lock === name
  const lock = isHere ? view.lock : undefined
  return (
    <section class="panel" ref={panel} aria-label={texts.heading}>
      <div class="panel-head">
        <h2>
          <LockName name={name} />
        </h2>
        <CopyButton text={name} about={escapeText(name)} />
        <button type="button" class="quiet close" onClick={close} aria-label={texts.close}>
          <span aria-hidden="true">✕</span>
        </button>
      </div>
      {lock === undefined && (
        <p class="loading" role="status">
          …
        </p>
      )}
      {lock === null && <Missing />}
      {lock && (
        <Whole
          lock={lock}
          look={look}
          trouble={view.trouble}
          steal={view.may.includes('steal') ? setTarget : undefined}
          query={query}
          navigate={navigate}
        />
      )}
      {target !== undefined && (
        <StealDialog
          target={target}
          lock={lock ?? undefined}
          store={view.stores.length > 1 ? view.store.name : undefined}
          api={api}
          close={() => setTarget(undefined)}
        />
      )}
    </section>
  )
}

function Missing() {
  const texts = useTexts().lock
  return (
    <div class="empty">
      <strong>{texts.missing}</strong>
      <p>{texts.missingNote}</p>
    </div>
  )
}

interface WholeProps extends Shown {
  readonly lock: LockView
  readonly look: Look
  readonly trouble: ConsoleView['trouble']
  readonly steal: ((target: Target) => void) | undefined
}

function Whole({ lock, look, trouble, steal, ...shown }: WholeProps) {
  return (
    <>
      <Facts lock={lock} look={look} />
      <Holders lock={lock} steal={steal} {...shown} />
      <Queue lock={lock} steal={steal} {...shown} />
      {lock.chain.length > 1 && <Chain chain={lock.chain} trouble={trouble} {...shown} />}
      <Commands lock={lock} />
      <History lock={lock} />
    </>
  )
}

function Facts({ lock, look }: { lock: LockView; look: Look }) {
  const texts = useTexts()
  const count = useCount()
  const age = useAge()
  const { kind, capacity, holders, lastToken, ageMs } = lock
  const used = holders.reduce((sum, { weight = 1 }) => sum + weight, 0)
  const seenMs = useNow() - look.lookedAt + ageMs
  return (
    <p class="facts">
      <Chip>{texts.kinds[kind]}</Chip>
      {capacity !== undefined && <span>{texts.lock.capacity(count(used), count(capacity))}</span>}
      {lastToken !== undefined && <span>{texts.lock.lastToken(lastToken)}</span>}
      <span class="dim">{texts.header.looked(age(seenMs))}</span>
    </p>
  )
}
