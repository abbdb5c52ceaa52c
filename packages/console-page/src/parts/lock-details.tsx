/** Below the claims of one lock: the chain of holders in the way, commands, and what happened. */
import { Fragment, type ComponentChildren } from 'preact'
import type {
  CycleMember,
  HistoryEntry,
  LockView,
  Trouble,
} from '../../../holdfast/src/console/view.js'
import { useAge, useDuration } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import { useTexts } from '../text/language.js'
import { CopyButton, isStill, LockLink, Process, Section, Signs, type Shown } from './small.js'
import { Time } from './time.js'

interface ChainProps extends Shown {
  readonly chain: LockView['chain']
  readonly trouble: readonly Trouble[]
}

export function Chain({ chain, trouble, ...shown }: ChainProps) {
  const texts = useTexts().lock
  const last = chain.at(-1)?.lock
  const isCycle = trouble.some(
    (one) =>
      one.kind === 'deadlock' && !one.isResolved && one.cycle.some(({ lock }) => lock === last),
  )
  const still = chain.find(isStill)
  const first = still ?? (isCycle ? undefined : chain.at(-1))
  return (
    <Section name="chain" heading={texts.chain}>
      <p class="note">{texts.chainNote}</p>
      <ol class="chain">
        {chain.map((member, index) => (
          <Link key={index} member={member} {...shown}>
            {member === first && <strong class="says">{texts.last}</strong>}
            {isCycle && index === chain.length - 1 && <strong class="says">{texts.cycle}</strong>}
          </Link>
        ))}
      </ol>
    </Section>
  )
}

interface LinkProps extends Shown {
  readonly member: CycleMember
  readonly children: ComponentChildren
}

function Link({ member, children, ...shown }: LinkProps) {
  const texts = useTexts().deadlock
  const duration = useDuration()
  const { owner, lock, heldMs } = member
  return (
    <li>
      <Process owner={owner} />
      <span class="says">
        {texts.holds} <LockLink lock={lock} {...shown} />{' '}
        {lock !== '' && <span class="dim">{texts.for(duration(heldMs))}</span>}{' '}
        <Signs of={member} />
      </span>
      {children}
    </li>
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
