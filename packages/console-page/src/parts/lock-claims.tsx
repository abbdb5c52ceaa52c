/** The claims of one lock: its holders, and its queue in order. */
import type {
  HolderView,
  LockView,
  OwnerView,
  SilentWaiterView,
  WaiterView,
} from '../../../holdfast/src/console/view.js'
import { useAge, useDuration } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import { useCount, useTexts } from '../text/language.js'
import { Chip, LockLink, Process, Section, Ttl, type Shown } from './small.js'

/** Names the sentence that explains a steal. */
const MEANING = 'steal-meaning'

/** The claim that an operator wants to end, as it was looked at. */
export interface Target {
  readonly lock: string
  readonly claimId: string
  readonly owner: OwnerView
  readonly isWaiter: boolean
  /** How long it has held or waited. */
  readonly forMs: number
  readonly remainingMs: number
}

interface ClaimsProps extends Shown {
  readonly lock: LockView
  /** Absent for a user that may only look. */
  readonly steal: ((target: Target) => void) | undefined
}

export function Holders({ lock, steal }: ClaimsProps) {
  const texts = useTexts()
  const count = useCount()
  const { holders, moreHolders = 0 } = lock
  const all = holders.length + moreHolders
  return (
    <Section name="holders" heading={texts.lock.holders} note={all > 1 && count(all)}>
      {holders.length === 0 && <p class="empty">{texts.lock.free}</p>}
      <ul class="claims">
        {holders.map((holder) => (
          <Holder key={holder.claimId} lock={lock.lock} holder={holder} steal={steal} />
        ))}
      </ul>
      {moreHolders > 0 && <p class="note">{texts.more(count(moreHolders))}</p>}
      {steal !== undefined && holders.length > 0 && (
        <p class="note" id={MEANING}>
          {texts.steal.meaning}
        </p>
      )}
    </Section>
  )
}

interface HolderProps {
  readonly lock: string
  readonly holder: HolderView
  readonly steal: ClaimsProps['steal']
}

function Holder({ lock, holder, steal }: HolderProps) {
  const texts = useTexts()
  const duration = useDuration()
  const { claimId, owner, heldMs, remainingMs, token, isStolen, stealReason, isLate } = holder
  const target = { lock, claimId, owner, isWaiter: false, forMs: heldMs, remainingMs }
  return (
    <li class={isLate || isStolen ? 'warning' : ''}>
      <div class="claim-head">
        <Process owner={owner} />
        {owner.isElection === true && <Chip tone="info">{texts.process.leader}</Chip>}
        {isLate && <Chip tone="danger">{texts.lock.late}</Chip>}
        {isStolen && <Chip tone="warning">{texts.lock.stolen}</Chip>}
        {steal !== undefined && (
          <button
            type="button"
            class="danger"
            aria-describedby={MEANING}
            onClick={() => steal(target)}
          >
            {texts.lock.steal}
          </button>
        )}
      </div>
      <div class="claim-facts">
        <span>{texts.lock.held(duration(heldMs))}</span>
        <Ttl holder={holder} />
      </div>
      <p class="claim-notes">
        <Terms of={holder} />
        {token !== undefined && <span>{texts.lock.token(token)}</span>}
        <ClaimId id={claimId} />
      </p>
      {stealReason !== undefined && (
        <p class="claim-notes">
          {texts.lock.stolen}: <Foreign text={stealReason} />
        </p>
      )}
    </li>
  )
}

export function Queue({ lock, steal, ...shown }: ClaimsProps) {
  const texts = useTexts()
  const count = useCount()
  const { waiters, waiterCount, localWaiters = 0, silentWaiters = [] } = lock
  const { noQueue, emptyQueue } = texts.lock
  const unlisted = waiterCount - waiters.length - localWaiters
  return (
    <Section name="queue" heading={texts.lock.queue} note={waiterCount > 0 && count(waiterCount)}>
      {waiterCount === 0 && <p class="empty">{silentWaiters.length > 0 ? emptyQueue : noQueue}</p>}
      <ol class="claims">
        {waiters.map((waiter) => (
          <Waiter key={waiter.claimId} lock={lock.lock} waiter={waiter} steal={steal} {...shown} />
        ))}
      </ol>
      {unlisted > 0 && <p class="note">{texts.more(count(unlisted))}</p>}
      {localWaiters > 0 && <p class="note">{texts.lock.localWaiters(count(localWaiters))}</p>}
      {silentWaiters.length > 0 && <Silent waiters={silentWaiters} {...shown} />}
    </Section>
  )
}

interface WaiterProps extends Shown {
  readonly lock: string
  readonly waiter: WaiterView
  readonly steal: ClaimsProps['steal']
}

function Waiter({ lock, waiter, steal, ...shown }: WaiterProps) {
  const texts = useTexts().lock
  const duration = useDuration()
  const { claimId, owner, waitedMs, holds = [] } = waiter
  const target = { lock, claimId, owner, isWaiter: true, forMs: waitedMs, remainingMs: 0 }
  return (
    <li title={texts.claim(claimId)}>
      <div class="claim-head">
        <Process owner={owner} />
        <Terms of={waiter} />
        <span class="figure">{duration(waitedMs)}</span>
        {steal !== undefined && (
          <button type="button" class="quiet" onClick={() => steal(target)}>
            {texts.endWait}
          </button>
        )}
      </div>
      {holds.length > 0 && (
        <p class="claim-notes">
          <Held locks={holds} {...shown} />
        </p>
      )}
    </li>
  )
}

/** Processes that wait as well, and are not in the queue. */
function Silent({ waiters, ...shown }: Shown & { waiters: readonly SilentWaiterView[] }) {
  const texts = useTexts()
  const age = useAge()
  return (
    <>
      <ul class="claims silent">
        {waiters.map(({ owner, holds, renewedMs }, index) => (
          <li key={index} class="warning">
            <div class="claim-head">
              <Process owner={owner} />
              <Chip tone="danger">{texts.silent.chip}</Chip>
            </div>
            <p class="claim-notes">
              <Held locks={holds} {...shown} />
              {renewedMs !== undefined && <span>{texts.silent.renewed(age(renewedMs))}</span>}
            </p>
          </li>
        ))}
      </ul>
      <p class="note">{texts.silent.note}</p>
    </>
  )
}

function Held({ locks, ...shown }: Shown & { locks: readonly string[] }) {
  const texts = useTexts().lock
  if (locks.length === 0) return null
  return (
    <>
      <span>{texts.meanwhileHolds}</span>
      {locks.map((held) => (
        <LockLink key={held} lock={held} {...shown} />
      ))}
    </>
  )
}

function Terms({ of: { mode, weight } }: { of: Pick<HolderView, 'mode' | 'weight'> }) {
  const texts = useTexts()
  const count = useCount()
  return (
    <>
      {mode !== undefined && <span>{texts.modes[mode]}</span>}
      {weight !== undefined && weight !== 1 && <span>{texts.lock.weight(count(weight))}</span>}
    </>
  )
}

function ClaimId({ id }: { id: string }) {
  const texts = useTexts().lock
  return (
    <span class="claim-id" title={texts.claim(id)}>
      {texts.claim(id)}
    </span>
  )
}
