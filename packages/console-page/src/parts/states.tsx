/** The page without a view: why it shows nothing, and what to do. */
import { useAge } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import { useNow } from '../look/hooks.js'
import type { Look } from '../look/looker.js'
import { useTexts } from '../text/language.js'

interface StateProps {
  readonly look: Look
  readonly hasToken: boolean
  readonly again: () => void
}

/** Fills the page while there is nothing to show. */
export function WholePageState({ look, hasToken, again }: StateProps) {
  const texts = useTexts().states
  const { state, message } = look
  if (state === 'loading' || state === 'live') {
    return (
      <main class="state">
        <p role="status">{texts.loading}</p>
      </main>
    )
  }
  const [title, note] = {
    lost: [texts.lost, texts.lostFirst],
    forbidden: [texts.forbidden, texts.forbiddenNote],
    'signed-out': hasToken
      ? [texts.wrongToken, texts.wrongTokenNote]
      : [texts.noToken, `${texts.noTokenNote} ${texts.signedOutNote}`],
  }[state]
  return (
    <main class="state">
      <h2>{title}</h2>
      <p>{note}</p>
      {message !== undefined && (
        <p class="dim">
          <Foreign text={message} />
        </p>
      )}
      <button type="button" onClick={again}>
        {texts.again}
      </button>
    </main>
  )
}

/** Stands above the last view while the console itself does not answer. */
export function Lost({ look }: { look: Look }) {
  const texts = useTexts().states
  const age = useAge()
  const now = useNow()
  return (
    <div class="no-answer" role="status">
      <strong>{texts.lost}</strong> {texts.lostNote(age(now - look.lookedAt))}
      {look.message !== undefined && (
        <span class="dim">
          <Foreign text={look.message} />
        </span>
      )}
    </div>
  )
}
