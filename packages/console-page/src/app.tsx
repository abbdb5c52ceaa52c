/** The whole page. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ConsoleView } from '../../holdfast/src/console/view.js'
import { Foreign } from './format/name.js'
import { useKeys } from './keys.js'
import type { Api } from './look/api.js'
import { useLook, useQuery } from './look/hooks.js'
import type { Looker } from './look/looker.js'
import { Header } from './parts/header.js'
import { LockPanel } from './parts/lock.js'
import { Problems } from './parts/problems.js'
import { Actions, Elections, Store } from './parts/rest.js'
import type { Shown } from './parts/small.js'
import { Lost, WholePageState } from './parts/states.js'
import { Table } from './parts/table.js'
import { TotalLines } from './parts/totals.js'
import { firstLanguage, keepLanguage, LANGUAGES, TextContext, useTexts } from './text/language.js'

interface AppProps {
  readonly looker: Looker
  readonly api: Api
}

export function App({ looker, api }: AppProps) {
  const [language, setLanguage] = useState(firstLanguage)
  const look = useLook(looker)
  const [query, navigate] = useQuery(looker)
  const { view } = look
  const speech = useMemo(() => ({ language, texts: LANGUAGES[language] }), [language])
  const close = (): void => {
    const name = query.lock
    navigate({ lock: undefined })
    focusRow(name)
  }
  useKeys(query.lock === undefined ? undefined : close)
  useTitle(view)
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en'
    keepLanguage(language)
  }, [language])
  const shown = { query, navigate }
  return (
    <TextContext.Provider value={speech}>
      <Header look={look} language={language} setLanguage={setLanguage} {...shown} />
      {view === undefined ? (
        <WholePageState look={look} hasToken={api.token !== undefined} again={() => looker.ask()} />
      ) : (
        <div class={`body ${query.lock === undefined ? '' : 'with-panel'}`}>
          <main class={isOld(look.state, view) ? 'aged' : ''}>
            {look.state === 'lost' && <Lost look={look} />}
            <Everything view={view} looker={looker} {...shown} />
          </main>
          {query.lock !== undefined && (
            <LockPanel look={look} view={view} api={api} close={close} {...shown} />
          )}
        </div>
      )}
    </TextContext.Provider>
  )
}

function Everything({ view, looker, ...shown }: Shown & { view: ConsoleView; looker: Looker }) {
  return (
    <>
      <Problems view={view} {...shown} />
      <TotalLines view={view} />
      <Table view={view} scrollTo={(offset) => looker.scrollTo(offset)} {...shown} />
      <Elections view={view} {...shown} />
      <Store view={view} />
      <Actions view={view} {...shown} />
      <Footer view={view} />
    </>
  )
}

function Footer({ view }: { view: ConsoleView }) {
  const { keys, prefix } = useTexts()
  return (
    <footer>
      {view.prefix !== undefined && (
        <p>
          {prefix.shows}{' '}
          <code>
            <Foreign text={view.prefix} />
          </code>
          {view.isPrefixLoose === true && <strong> {prefix.loose}</strong>}
        </p>
      )}
      <p class="keys">
        <kbd>/</kbd> {keys.search} <kbd>↑</kbd> <kbd>↓</kbd> {keys.move} <kbd>Enter</kbd>{' '}
        {keys.open} <kbd>Esc</kbd> {keys.close}
      </p>
    </footer>
  )
}

/** The title of a tab in the background shows how many problems there are. */
function useTitle(view: ConsoleView | undefined): void {
  const count = (view?.trouble.length ?? 0) + (view?.moreTrouble ?? 0)
  const title =
    view === undefined ? 'Holdfast' : [view.title, view.environment].filter(Boolean).join(' · ')
  useEffect(() => {
    document.title = count > 0 ? `(${count}) ${title}` : title
  }, [count, title])
}

function isOld(state: string, view: ConsoleView): boolean {
  return state === 'lost' || view.store.state === 'away'
}

/** Moves the focus to the row from which a lock was opened. */
function focusRow(name: string | undefined): void {
  requestAnimationFrame(() => {
    for (const row of document.querySelectorAll<HTMLAnchorElement>('.window .lock-link')) {
      if (new URLSearchParams(row.search).get('lock') === name) return row.focus()
    }
  })
}
