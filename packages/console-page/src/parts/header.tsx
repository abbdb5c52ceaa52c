/** The bar at the top: which console, which store, how old the look is, and the language. */
import type { ConsoleView } from '../../../holdfast/src/console/view.js'
import { useAge } from '../format/duration.js'
import { Foreign } from '../format/name.js'
import { useNow } from '../look/hooks.js'
import type { Look } from '../look/looker.js'
import { LANGUAGES, useTexts, type Language } from '../text/language.js'
import { Chip, type Shown } from './small.js'

/** An age from here on is old: the server looks every two seconds, unless it is set otherwise. */
const OLD_LOOKS = 4

interface HeaderProps extends Shown {
  readonly look: Look
  readonly language: Language
  readonly setLanguage: (language: Language) => void
}

export function Header({ look, language, setLanguage, query, navigate }: HeaderProps) {
  const texts = useTexts()
  const { view } = look
  return (
    <header class="bar">
      <Mark />
      <h1>
        <Foreign text={view?.title ?? 'Holdfast'} />
      </h1>
      {view?.environment !== undefined && (
        <Chip tone={/^prod/i.test(view.environment) ? 'danger' : 'info'}>
          <Foreign text={view.environment} />
        </Chip>
      )}
      {view !== undefined && <StoreChoice view={view} query={query} navigate={navigate} />}
      <span class="grow" />
      {view !== undefined && <Age look={look} refreshMs={view.refreshMs} />}
      {view !== undefined && (
        <span class="user" title={texts.header.user(view.user)}>
          <Foreign text={view.user} />
          {!view.may.includes('steal') && <Chip>{texts.header.readOnly}</Chip>}
        </span>
      )}
      <div class="languages" role="group" aria-label={texts.header.language}>
        {Object.entries(LANGUAGES).map(([name, { language: shown }]) => (
          <button
            type="button"
            key={name}
            lang={name}
            aria-pressed={name === language}
            onClick={() => setLanguage(name as Language)}
          >
            {name === 'en' ? 'EN' : shown}
          </button>
        ))}
      </div>
    </header>
  )
}

function StoreChoice({ view, query, navigate }: Shown & { view: ConsoleView }) {
  const texts = useTexts().header
  const { name, kind, address } = view.store
  if (view.stores.length < 2) {
    return (
      <span class="address">
        <Foreign text={address ?? kind} />
      </span>
    )
  }
  return (
    <label class="stores">
      <span class="hidden">{texts.store}</span>
      <select
        value={name}
        onChange={({ currentTarget }) =>
          navigate({ ...query, store: currentTarget.value, lock: undefined })
        }
      >
        {view.stores.map((store) => (
          <option key={store} value={store}>
            {store}
          </option>
        ))}
      </select>
    </label>
  )
}

function Age({ look, refreshMs }: { look: Look; refreshMs: number }) {
  const texts = useTexts().header
  const age = useAge()
  const ageMs = useNow() - look.lookedAt
  const isOld = look.state === 'lost' || ageMs > OLD_LOOKS * refreshMs
  return (
    <span class={`age ${isOld ? 'old' : ''}`}>
      <span class="dot" />
      {ageMs < 1_000 ? texts.lookedNow : isOld ? texts.old(age(ageMs)) : texts.looked(age(ageMs))}
    </span>
  )
}

/** The mark of the console: a padlock. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <rect x="4" y="8.5" width="12" height="8" rx="2" />
      <path d="M6.5 8.5V6a3.5 3.5 0 0 1 7 0v2.5" />
    </svg>
  )
}
