/**
 * The token of the command. It comes in the fragment of the address, which no server and no log
 * sees. The page removes it from the address bar, and keeps it for this tab alone.
 */
const KEY = 'holdfast-console-token:'

export function takeToken(): string | undefined {
  const text = location.hash.slice(1).replace(/^token=/, '')
  const key = KEY + location.pathname
  if (text === '') return keptUnder(key)
  history.replaceState(history.state, '', location.pathname + location.search)
  try {
    sessionStorage.setItem(key, text)
  } catch {
    // A browser may forbid storage. Then a reload needs the whole address again.
  }
  return text
}

function keptUnder(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}
