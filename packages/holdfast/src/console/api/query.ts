/** The query of a view. What makes no sense in it counts as absent: it may be an old link. */
import { SORTS } from '../table/order.js'
import type { Table } from '../view.js'

export interface ViewQuery {
  readonly store: string | undefined
  readonly lock: string | undefined
  readonly search: string
  readonly sort: Table['sort']
  readonly offset: number
  readonly limit: number
}

const DEFAULT_LIMIT = 80
const MOST_ROWS = 200
const LONGEST_TEXT = 2_048

export function readQuery(params: URLSearchParams): ViewQuery {
  const sort = params.get('sort')
  return {
    store: params.get('store') ?? undefined,
    lock: params.get('lock')?.slice(0, LONGEST_TEXT) ?? undefined,
    search: (params.get('search') ?? '').slice(0, LONGEST_TEXT),
    sort: SORTS.find((known) => known === sort) ?? 'wait',
    offset: wholeNumber(params.get('offset'), 0, Number.MAX_SAFE_INTEGER),
    limit: wholeNumber(params.get('limit'), DEFAULT_LIMIT, MOST_ROWS),
  }
}

function wholeNumber(text: string | null, fallback: number, most: number): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Math.min(Number(text), most) : fallback
}
