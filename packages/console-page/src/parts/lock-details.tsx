/** Below the claims of one lock: the chain of holders in the way, commands, and what happened. */
import { Fragment } from 'preact'
import type { HistoryEntry, LockView, Trouble } from '../../../holdfast/src/console/view.js'
import { useAge, useDuration } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import { useTexts } from '../text/language.js'
import { CopyButton, LockLink, Process, Section, type Shown } from './small.js'
import { Time } from './time.js'

interface ChainProps extends Shown {
  readonly chain: LockView['chain']
  readonly trouble: readonly Trouble[]
}

export function Chain({ chain, trouble, ...shown }: ChainProps) {
  const texts = useTexts()
  const duration = useDuration()
  const last = chain.at(-1)?.lock
  const isCycle = trouble.some(
    (one) =>
      one.kind === 'deadlock' && !one.isResolved && one.cycle.some(({ lock }) => lock === last),
  )
  return (
    <Section name="chain" heading={texts.lock.chain}>
      <p class="note">{texts.lock.chainNote}</p>
      <ol class="chain">
        {chain.map(({ owner, lock, heldMs }, index) => (
          <li key={index}>
            <Process owner={owner} />
            <span class="says">
              {texts.deadlock.holds} <LockLink lock={lock} {...shown} />{' '}
              {lock !== '' && <span class="dim">{texts.deadlock.for(duration(heldMs))}</span>}
            </span>
            {index === chain.length - 1 && (
              <strong class="says">{isCycle ? texts.lock.cycle : texts.lock.last}</strong>
            )}
          </li>
        ))}
      </ol>
    </Section>
  )
}

export function Commands({ lock }: { lock: LockView }) {
  const texts = useTexts()
  return (
    <Section name="commands" heading={texts.lock.commands}>
      <ul class="commands">
        {lock.commands.map(({ about, command }) => (
          <li key={about}>
            <span class="dim">{texts.commands[about]}</span>
            <code>
              <Words of={command} />
            </code>
            <CopyButton text={command} about={texts.commands[about]} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** A command that breaks between its words first: two dashes stay together. */
function Words({ of: command }: { of: string }) {
  return (
    <>
      {command.split(' ').map((word, index) => (
        <Fragment key={index}>
          {index > 0 && ' '}
          <span class="word">
            <Foreign text={word} />
          </span>
        </Fragment>
      ))}
    </>
  )
}

export function History({ lock }: { lock: LockView }) {
  const texts = useTexts().lock
  const age = useAge()
  const { history, historySinceMs } = lock
  return (
    <Section name="history" heading={texts.history}>
      {history.length === 0 && <p class="empty">{texts.noHistory}</p>}
      <ol class="history">
        {history.map((entry, index) => (
          <Entry key={index} entry={entry} />
        ))}
      </ol>
      <p class="note">{texts.historyNote(age(historySinceMs))}</p>
    </Section>
  )
}

function Entry({ entry: { atMs, what, owner, token, text } }: { entry: HistoryEntry }) {
  const texts = useTexts()
  return (
    <li class={what}>
      <Time atMs={atMs} />
      <span class="what">{texts.history[what]}</span>
      <span class="rest">
        {owner !== undefined && <Process owner={owner} />}
        {token !== undefined && <span class="dim">{texts.lock.token(token)}</span>}
        {text !== undefined && <Foreign text={text} />}
      </span>
    </li>
  )
}
