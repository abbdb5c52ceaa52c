/** Below the table: elections, the store, and what operators did here. */
import type { ActionView, ConsoleView, ElectionView } from '../../../holdfast/src/console/view.js'
import { useAge, useDuration } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import { useCount, useTexts } from '../text/language.js'
import { LockLink, Process, Section, Ttl, type Shown } from './small.js'
import { Time } from './time.js'

export function Elections({ view, ...shown }: Shown & { view: ConsoleView }) {
  const texts = useTexts()
  const count = useCount()
  const { elections, moreElections = 0 } = view
  const all = count(elections.length + moreElections)
  if (elections.length === 0) return null
  return (
    <Section name="elections" heading={texts.elections.heading} note={all}>
      <ul class="plain">
        {elections.map((election) => (
          <Election key={election.lock} election={election} {...shown} />
        ))}
      </ul>
      {moreElections > 0 && <p class="note">{texts.more(count(moreElections))}</p>}
    </Section>
  )
}

function Election({ election, ...shown }: Shown & { election: ElectionView }) {
  const texts = useTexts().elections
  const duration = useDuration()
  const count = useCount()
  const { lock, leader, candidates } = election
  return (
    <li class={leader === undefined && candidates > 0 ? 'warning' : ''}>
      <LockLink lock={lock} {...shown} />
      {leader === undefined ? (
        <span class="none">{texts.none}</span>
      ) : (
        <>
          <Process owner={leader.owner} />
          <span class="figure">{texts.leads(duration(leader.heldMs))}</span>
          <Ttl holder={leader} />
        </>
      )}
      <span class="dim">{texts.candidates(count(candidates))}</span>
    </li>
  )
}

export function Store({ view }: { view: ConsoleView }) {
  const texts = useTexts().store
  const duration = useDuration()
  const age = useAge()
  const { store, totals, refreshMs } = view
  const { name, kind, address, state, latencyMs, sinceMs } = store
  return (
    <Section name="store" heading={texts.heading}>
      <p class={`store-line ${state}`}>
        <span class="dot" />
        <strong>
          <Foreign text={name} />
        </strong>
        <span>
          {kind !== name && <Foreign text={kind} />}{' '}
          {address !== undefined && <Foreign text={address} />}
        </span>
        <span>
          {texts.states[state]}
          {sinceMs !== undefined && ` ${texts.since(duration(sinceMs))}`}
        </span>
        {latencyMs !== undefined && <span class="dim">{texts.latency(duration(latencyMs))}</span>}
        {totals.walkMs !== undefined && <span class="dim">{texts.walk(age(totals.walkMs))}</span>}
        <span class="dim">{texts.refresh(duration(refreshMs))}</span>
      </p>
    </Section>
  )
}

export function Actions({ view, ...shown }: Shown & { view: ConsoleView }) {
  const texts = useTexts().actions
  const { actions } = view
  if (actions.length === 0 && !view.may.includes('steal')) return null
  return (
    <Section name="actions" heading={texts.heading}>
      {actions.length === 0 && <p class="empty">{texts.none}</p>}
      <ol class="plain">
        {actions.map((action, index) => (
          <Action key={index} action={action} {...shown} />
        ))}
      </ol>
    </Section>
  )
}

function Action({ action, ...shown }: Shown & { action: ActionView }) {
  const texts = useTexts()
  const { atMs, user, lock, reason, outcome, text } = action
  return (
    <li class={`action ${outcome}`}>
      <Time atMs={atMs} />
      <Foreign text={user} />
      <span>{texts.actions[action.action]}</span>
      <LockLink lock={lock} {...shown} />
      <span class="outcome">{texts.actions.outcomes[outcome]}</span>
      <span class="dim">
        {reason !== undefined && <Foreign text={reason} />}{' '}
        {text !== undefined && <Foreign text={text} />}
      </span>
    </li>
  )
}
