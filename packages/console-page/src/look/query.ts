/** What the page shows, as the query of its address has it: a link to it shows the same. */
import type { Table } from '../../../holdfast/src/console/view.js'

export type Sort = Table['sort']

export interface Query {
  readonly store?: string
  readonly lock?: string
  readonly search: string
  readonly sort: Sort
}

export const SORTS: readonly Sort[] = ['wait', 'name', 'held', 'ttl', 'waiters']

export function readQuery(text: string): Query {
  const params = new URLSearchParams(text)
  const store = params.get('store')
  const lock = params.get('lock')
  const sort = SORTS.find((known) => known === params.get('sort'))
  return {
    ...(store !== null && { store }),
    ...(lock !== null && { lock }),
    search: params.get('search') ?? '',
    sort: sort ?? 'wait',
  }
}

/** Returns a query with its `?`, without the parts that are as by default. */
export function writeQuery({ store, lock, search, sort }: Query): string {
  const params = new URLSearchParams()
  if (store !== undefined) params.set('store', store)
  if (lock !== undefined) params.set('lock', lock)
  if (search !== '') params.set('search', search)
  if (sort !== 'wait') params.set('sort', sort)
  // Names stay readable in the address bar.
  return `?${params.toString().replaceAll('%3A', ':').replaceAll('%2F', '/')}`
}
