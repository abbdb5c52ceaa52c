/**
 * Ends one claim, after the operator has typed the name of its lock. The dialog keeps the claim as
 * it was looked at: when another one holds the lock by then, nothing is stolen.
 */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { LockView } from '../../../holdfast/src/console/view.js'
import { useDuration } from '../format/duration.js'
import { escapeText, LockName } from '../format/name.js'
import type { Api, StealAnswer } from '../look/api.js'
import { useTexts } from '../text/language.js'
import type { Target } from './lock-claims.js'
import { Process } from './small.js'
import { Outcome } from './steal-outcome.js'

interface StealDialogProps {
  readonly target: Target
  /** The lock by now. */
  readonly lock: LockView | undefined
  readonly store: string | undefined
  readonly api: Api
  readonly close: () => void
}

export function StealDialog({ target, lock, store, api, close }: StealDialogProps) {
  const texts = useTexts().steal
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const [answer, setAnswer] = useState<StealAnswer | 'sending'>()
  useEffect(() => dialog.current?.showModal(), [])
  const send = async (how: Terms): Promise<void> => {
    setAnswer('sending')
    const { lock: name, claimId } = target
    const request = {
      lock: name,
      claimId,
      typed: name,
      ...how,
      ...(store !== undefined && { store }),
    }
    setAnswer(await api.steal(request))
  }
  return (
    <dialog class="steal" ref={dialog} aria-labelledby={heading} onClose={close}>
      <h2 id={heading}>{target.isWaiter ? texts.waiter : texts.holder}</h2>
      <LookedAt target={target} lock={lock} />
      {answer === undefined || answer === 'sending' ? (
        <Form
          target={target}
          isSending={answer === 'sending'}
          send={(how) => void send(how)}
          cancel={() => dialog.current?.close()}
        />
      ) : (
        <Outcome answer={answer} close={() => dialog.current?.close()} />
      )}
    </dialog>
  )
}

function LookedAt({ target, lock }: { target: Target; lock: LockView | undefined }) {
  const texts = useTexts()
  const duration = useDuration()
  const { isWaiter, claimId, owner, forMs } = target
  const claims = isWaiter ? lock?.waiters : lock?.holders
  const isGone = claims !== undefined && !claims.some((claim) => claim.claimId === claimId)
  return (
    <div class="looked-at">
      <span class="dim">{isWaiter ? texts.steal.lookedAtWaiter : texts.steal.lookedAt}</span>
      <Process owner={owner} />
      <span>
        <LockName name={target.lock} />{' '}
        <span class="dim">
          {isWaiter ? texts.lock.waited(duration(forMs)) : texts.lock.held(duration(forMs))}
        </span>
      </span>
      {isGone && (
        <p class="gone" role="status">
          {texts.steal.gone}
        </p>
      )}
    </div>
  )
}

interface Terms {
  readonly now: boolean
  readonly reason: string
}

interface FormProps {
  readonly target: Target
  readonly isSending: boolean
  readonly send: (how: Terms) => void
  readonly cancel: () => void
}

function Form({ target, isSending, send, cancel }: FormProps) {
  const texts = useTexts().steal
  const [now, setNow] = useState(false)
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const shown = escapeText(target.lock)
  // A name with invisible characters cannot be typed, so its escaped form is as good.
  const isRight = (typed === target.lock || typed === shown) && reason.trim() !== ''
  const action = target.isWaiter ? texts.waiter : now ? texts.now : texts.gentle
  return (
    <form
      method="dialog"
      onSubmit={(event) => {
        event.preventDefault()
        if (isRight && !isSending) send({ now, reason: reason.trim() })
      }}
    >
      {!target.isWaiter && <How target={target} now={now} setNow={setNow} />}
      <Field
        label={texts.typed}
        note={texts.typedNote(shown)}
        value={typed}
        change={setTyped}
        isMono
      />
      <Field label={texts.reason} note={texts.reasonNote} value={reason} change={setReason} />
      <div class="buttons">
        <button type="button" onClick={cancel}>
          {texts.cancel}
        </button>
        <button type="submit" class="danger solid" disabled={!isRight || isSending}>
          {isSending ? texts.sending : action}
        </button>
      </div>
    </form>
  )
}

function How({
  target,
  now,
  setNow,
}: {
  target: Target
  now: boolean
  setNow: (now: boolean) => void
}) {
  const texts = useTexts().steal
  const duration = useDuration()
  const choices = [
    {
      isNow: false,
      label: texts.gentle,
      note: texts.gentleNote(duration(Math.max(0, target.remainingMs))),
    },
    { isNow: true, label: texts.now, note: texts.nowNote },
  ]
  return (
    <fieldset>
      <legend class="hidden">{texts.how}</legend>
      {choices.map(({ isNow, label, note }) => (
        <label key={label} class={`choice ${isNow ? 'now' : ''}`}>
          <input type="radio" name="how" checked={now === isNow} onChange={() => setNow(isNow)} />
          <span>
            <strong>{label}</strong>
            <span class="dim">{note}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

interface FieldProps {
  readonly label: string
  readonly note: string
  readonly value: string
  readonly change: (value: string) => void
  readonly isMono?: boolean
}

function Field({ label, note, value, change, isMono = false }: FieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={isMono ? 'mono' : ''}
        value={value}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <span class="note" id={`${id}-note`}>
        {note}
      </span>
    </div>
  )
}
