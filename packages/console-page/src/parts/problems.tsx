/** What is wrong, the gravest first; or that nothing is. */
import type { ConsoleView, Trouble } from '../../../holdfast/src/console/view.js'
import { useDuration } from '../format/duration.js'
import { useCount, useTexts } from '../text/language.js'
import { Deadlock } from './deadlock.js'
import { Candidates, LateRenewals, OldWaiters, StolenButHeld } from './lists.js'
import type { Shown } from './small.js'
import { StoreAway, StoreSlow } from './store-trouble.js'

type Of<Kind extends Trouble['kind']> = Trouble & { readonly kind: Kind }

export function Problems({ view, ...shown }: Shown & { view: ConsoleView }) {
  const texts = useTexts().problems
  const count = useCount()
  const { trouble, moreTrouble = 0, searchedLocks, store } = view
  const away = of(trouble, 'store-away')[0]
  const isKnown = searchedLocks === undefined
  const isQuiet = trouble.length === 0 && isKnown && store.state !== 'away'
  return (
    <section class="problems" aria-labelledby="heading-problems">
      <h2 id="heading-problems" class="hidden">
        {texts.heading}
      </h2>
      {isQuiet && <Quiet view={view} />}
      {/* All other findings are old while the store is away, so this stands first. */}
      {store.state === 'away' && <StoreAway store={store} sinceMs={away?.sinceMs} />}
      <div class="cards">
        {of(trouble, 'deadlock').map((deadlock, index) => (
          <Deadlock key={index} deadlock={deadlock} {...shown} />
        ))}
        {searchedLocks !== undefined && <Unsearched count={searchedLocks} />}
        <Lists view={view} {...shown} />
      </div>
      {moreTrouble > 0 && <p class="note">{texts.further(count(moreTrouble))}</p>}
    </section>
  )
}

/** The search for deadlocks has left locks out. */
function Unsearched({ count: searched }: { count: number }) {
  const texts = useTexts().problems
  const count = useCount()
  return (
    <article class="card warning">
      <h3>{texts.unsearched}</h3>
      <p class="advice">{texts.unsearchedNote(count(searched))}</p>
    </article>
  )
}

function Lists({ view: { trouble, waitWarnMs }, ...shown }: Shown & { view: ConsoleView }) {
  const late = of(trouble, 'late-renewal')
  const old = of(trouble, 'old-waiters')
  const stolen = of(trouble, 'stolen-but-held')
  const leaderless = of(trouble, 'no-leader')
  const slow = of(trouble, 'store-slow')[0]
  return (
    <>
      {late.length > 0 && <LateRenewals items={late} {...shown} />}
      {old.length > 0 && <OldWaiters items={old} waitWarnMs={waitWarnMs} {...shown} />}
      {stolen.length > 0 && <StolenButHeld items={stolen} {...shown} />}
      {leaderless.length > 0 && <Candidates items={leaderless} {...shown} />}
      {slow !== undefined && <StoreSlow {...slow} />}
    </>
  )
}

function Quiet({ view }: { view: ConsoleView }) {
  const texts = useTexts().problems
  const duration = useDuration()
  const { totals, table, waitWarnMs } = view
  const { isComplete } = totals
  const isEmpty = isComplete && totals.locks === 0 && table.search === ''
  return (
    <div class={`quiet-state ${isEmpty ? 'is-empty' : ''}`}>
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <circle cx="10" cy="10" r="9" />
        <path d="M6 10.4l2.7 2.7L14.2 7.4" />
      </svg>
      <p>
        <strong>{isEmpty ? texts.empty : isComplete ? texts.quiet : texts.quietSoFar}</strong>
        <span>
          {isEmpty ? texts.emptyNote : texts.quietNote(duration(waitWarnMs))}
          {!isComplete && ` ${texts.incomplete}`}
        </span>
      </p>
    </div>
  )
}

function of<Kind extends Trouble['kind']>(trouble: readonly Trouble[], kind: Kind): Of<Kind>[] {
  return trouble.filter((one): one is Of<Kind> => one.kind === kind)
}
