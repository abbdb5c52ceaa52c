/** What components hear of the look, of time, and of the address. */
import { useEffect, useState } from 'preact/hooks'
import type { Look, Looker } from './looker.js'
import { readQuery, writeQuery, type Query } from './query.js'

export function useLook(looker: Looker): Look {
  const [look, setLook] = useState(looker.look)
  useEffect(() => {
    setLook(looker.look)
    return looker.subscribe(() => setLook(looker.look))
  }, [looker])
  return look
}

/** Returns the time on the clock of `performance.now()`, and draws again each second. */
export function useNow(): number {
  const [now, setNow] = useState(() => performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  // What was looked at since the last second is no younger than now.
  return Math.max(now, performance.now())
}

/** Undefined removes a part. */
export type Change = { readonly [Part in keyof Query]?: Query[Part] | undefined }

/** Changes what is shown. `replace` leaves no step in the history of the browser. */
export type Navigate = (change: Change, how?: 'replace') => void

export function useQuery(looker: Looker): readonly [Query, Navigate] {
  const [query, setQuery] = useState(() => readQuery(location.search))
  const show = (next: Query): void => {
    setQuery(next)
    looker.show(next)
  }
  useEffect(() => {
    const onPop = (): void => show(readQuery(location.search))
    addEventListener('popstate', onPop)
    return () => removeEventListener('popstate', onPop)
  }, [looker])
  const navigate: Navigate = (change, how) => {
    const next = withChange(query, change)
    const address = addressOf(next)
    if (how === 'replace') history.replaceState(null, '', address)
    else history.pushState(null, '', address)
    show(next)
  }
  return [query, navigate]
}

/** Returns the address of what is shown with a change, for a link. */
export function addressOf(query: Query, change: Change = {}): string {
  const text = writeQuery(withChange(query, change))
  return text === '?' ? location.pathname : text
}

function withChange(query: Query, change: Change): Query {
  const { store, lock, search, sort } = { ...query, ...change }
  return {
    search: search ?? '',
    sort: sort ?? 'wait',
    ...(store !== undefined && { store }),
    ...(lock !== undefined && { lock }),
  }
}
