/** What became of a steal. */
import { useEffect, useRef } from 'preact/hooks'
import type { ActionView } from '../../../holdfast/src/console/view.js'
import { useDuration } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import type { StealAnswer } from '../look/api.js'
import { useTexts } from '../text/language.js'

export function Outcome({ answer, close }: { answer: StealAnswer; close: () => void }) {
  const texts = useTexts().steal
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => button.current?.focus(), [])
  return (
    <>
      <div class="outcome" role="status">
        {answer.kind === 'done' ? (
          <Done action={answer.action} />
        ) : (
          <>
            <strong>{texts.outcomes[answer.kind]}</strong>
            <p>
              <Foreign text={answer.message} />
            </p>
          </>
        )}
      </div>
      <div class="buttons">
        <button type="button" ref={button} onClick={close}>
          {texts.close}
        </button>
      </div>
    </>
  )
}

function Done({ action: { outcome, freeInMs, text } }: { action: ActionView }) {
  const texts = useTexts().steal
  const duration = useDuration()
  const free =
    freeInMs === undefined
      ? texts.kept
      : freeInMs > 0
        ? texts.freeIn(duration(freeInMs))
        : texts.freeNow
  return (
    <>
      <strong>{texts.outcomes[outcome]}</strong>
      {outcome === 'stolen' && <p>{free}</p>}
      {text !== undefined && (
        <p>
          <Foreign text={text} />
        </p>
      )}
    </>
  )
}
