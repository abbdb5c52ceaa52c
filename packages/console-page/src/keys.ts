/** The keys of the page: `/` searches, arrows move from row to row, and Escape closes. */
import { useEffect } from 'preact/hooks'

const ROWS = '.window .lock-link'

export function useKeys(close: (() => void) | undefined): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      // A dialog has keys of its own.
      if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (actionOf(event.key, close)?.() === true) event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [close])
}

/** Returns what a key does. It returns true when the key is used up. */
function actionOf(key: string, close: (() => void) | undefined): (() => boolean) | undefined {
  switch (key) {
    case '/':
      return focusSearch
    case 'ArrowDown':
      return () => moveRow(1)
    case 'ArrowUp':
      return () => moveRow(-1)
    case 'Escape':
      return () => leave(close)
    default:
      return undefined
  }
}

function focusSearch(): boolean {
  const search = searchField()
  if (search === null || isTyping()) return false
  search.focus()
  search.select()
  return true
}

function moveRow(step: 1 | -1): boolean {
  const active = document.activeElement
  const isInSearch = active === searchField()
  if (isTyping() && !(isInSearch && step === 1)) return false
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)]
  const index = rows.findIndex((row) => row === active)
  if (index === -1 && !isInSearch && active !== document.body) return false
  if (index === 0 && step === -1) return focusSearch()
  rows[Math.max(0, index + step)]?.focus()
  return true
}

function leave(close: (() => void) | undefined): boolean {
  const search = searchField()
  if (search !== null && document.activeElement === search && search.value === '') {
    search.blur()
    return true
  }
  // A search field clears itself.
  if (isTyping() || close === undefined) return false
  close()
  return true
}

function searchField(): HTMLInputElement | null {
  return document.querySelector('#search')
}

function isTyping(): boolean {
  const active = document.activeElement
  return active instanceof HTMLInputElement || active instanceof HTMLSelectElement
}
