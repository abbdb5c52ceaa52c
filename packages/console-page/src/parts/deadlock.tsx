/** One deadlock: the ring, and beside it each process with what it holds and what it waits for. */
import type { CycleMember, Trouble } from '../../../holdfast/src/console/view.js'
import { useAge, useDuration } from '../format/duration.js'
import { useTexts } from '../text/language.js'
import { Ring } from './ring.js'
import { isStill, LockLink, Process, Signs, type Shown } from './small.js'

/** A claim without heartbeats leaves the queue of its store within this time. */
const SIGNS_AFTER_MS = 30_000

interface DeadlockProps extends Shown {
  readonly deadlock: Extract<Trouble, { kind: 'deadlock' }>
}

export function Deadlock({ deadlock, ...shown }: DeadlockProps) {
  const { deadlock: texts, steal } = useTexts()
  const age = useAge()
  const { cycle, isResolved, seenMs } = deadlock
  return (
    <article class={`card deadlock ${isResolved ? 'resolved' : 'danger'}`}>
      <h3>
        {isResolved ? texts.resolved : texts.title(cycle.length)}
        {isResolved && <span class="note">{texts.seen(age(seenMs))}</span>}
      </h3>
      <p class="advice">{isResolved ? texts.resolvedAdvice : <Advice deadlock={deadlock} />}</p>
      {!isResolved && <p class="note">{steal.meaning}</p>}
      <div class={`cycle ${cycle.length > 4 ? 'many' : ''}`}>
        <Ring cycle={cycle} />
        <ol>
          {cycle.map((member, index) => (
            <Member
              key={index}
              member={member}
              next={cycle[(index + 1) % cycle.length] ?? member}
              {...shown}
            />
          ))}
        </ol>
      </div>
    </article>
  )
}

function Advice({ deadlock }: Pick<DeadlockProps, 'deadlock'>) {
  const texts = useTexts().deadlock
  return (
    <>
      {choiceIn(deadlock, texts)} {texts.killed}
    </>
  )
}

/** Returns which process to stop, as far as its signs show, and what happens then. */
function choiceIn(
  { cycle, seenMs }: DeadlockProps['deadlock'],
  texts: ReturnType<typeof useTexts>['deadlock'],
): string {
  const still = cycle.filter(isStill).length
  if (still === cycle.length) return texts.allStill
  if (still > 0) return texts.still(still)
  if (seenMs < SIGNS_AFTER_MS) return texts.young
  return cycle.some(({ owner }) => owner.isForeign === true) ? texts.someOne : texts.anyOne
}

function Member({ member, next, ...shown }: Shown & { member: CycleMember; next: CycleMember }) {
  const texts = useTexts().deadlock
  const duration = useDuration()
  return (
    <li>
      <Process owner={member.owner} />
      <span class="says">
        {texts.holds} <LockLink lock={member.lock} {...shown} />{' '}
        {member.lock !== '' && <span class="dim">{texts.for(duration(member.heldMs))}</span>}
      </span>
      <span class="says">
        {texts.waitsFor} <LockLink lock={next.lock} {...shown} /> <Signs of={member} />
      </span>
    </li>
  )
}
