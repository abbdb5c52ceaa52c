/** A store that is slow, or does not answer. */
import type { StoreView, Trouble } from '../../../holdfast/src/console/view.js'
import { useDuration } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import { useTexts } from '../text/language.js'

export function StoreSlow({
  sinceMs,
  latencyMs,
}: Extract<Trouble, { kind: 'store-slow' | 'store-away' }>) {
  const texts = useTexts().slow
  const duration = useDuration()
  return (
    <article class="card warning">
      <h3>{texts.title}</h3>
      <p class="advice">{texts.text(duration(latencyMs ?? 0), duration(sinceMs))}</p>
    </article>
  )
}

export function StoreAway({ store, sinceMs }: { store: StoreView; sinceMs: number | undefined }) {
  const texts = useTexts().away
  const duration = useDuration()
  const { error, findings = [] } = store
  return (
    <article class="card danger away">
      <h3>
        {texts.title}
        <span class="note">
          <Foreign text={store.address ?? store.kind} />
        </span>
      </h3>
      <p class="advice">
        {texts.text(duration(sinceMs ?? store.sinceMs ?? store.ageMs))} {texts.recovers}
      </p>
      {error !== undefined && (
        <p class="error">
          <code>{error.code}</code> <Foreign text={error.message} />
        </p>
      )}
      {findings.length > 0 && (
        <>
          <h4>{texts.findings}</h4>
          <ul class="findings">
            {findings.map(({ isFine, text, advice }) => (
              <li key={text} class={isFine ? 'fine' : 'bad'}>
                <span aria-hidden="true">{isFine ? '✓' : '✗'}</span>
                <span>
                  <Foreign text={text} />
                  {advice !== undefined && (
                    <span class="dim">
                      <Foreign text={advice} />
                    </span>
                  )}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </article>
  )
}
