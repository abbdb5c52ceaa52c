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
        <main class={query.lock === undefined ? '' : 'with-panel'}>
          <div class={`all ${isOld(look.state, view) ? 'aged' : ''}`}>
            {look.state === 'lost' && <Lost look={look} />}
            <Everything view={view} looker={looker} {...shown} />
          </div>
          {query.lock !== undefined && (
            <LockPanel look={look} view={view} api={api} close={close} {...shown} />
          )}
        </main>
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

/** A tab in the background shows in its title and icon that something is wrong. */
function useTitle(view: ConsoleView | undefined): void {
  const count = (view?.trouble.length ?? 0) + (view?.moreTrouble ?? 0)
  const title =
    view === undefined ? 'Holdfast' : [view.title, view.environment].filter(Boolean).join(' · ')
  useEffect(() => {
    document.title = count > 0 ? `(${count}) ${title}` : title
    document.querySelector('link[rel=icon]')?.setAttribute('href', iconFor(count > 0))
  }, [count, title])
}

/** Returns a padlock, red when something is wrong. */
function iconFor(isWrong: boolean): string {
  const color = isWrong ? '#d33a34' : '#4b7fd6'
  const body = `<rect x="3" y="9" width="14" height="9" rx="2" fill="${color}"/>`
  const bow = `<path d="M6 9V6a4 4 0 0 1 8 0v3" fill="none" stroke="${color}" stroke-width="2"/>`
  const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20">${body}${bow}</svg>`
  return `data:image/svg+xml,${encodeURIComponent(icon)}`
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
