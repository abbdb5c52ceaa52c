/** The state of `holdfast watch`, and its changes by keys. Pure: a test needs no terminal. */
import type { LockInfo } from '../../store/index.js'
import { waiterCount } from '../output/holders.js'

export const SORTS = ['name', 'held for', 'ttl left', 'waiting'] as const
export type Sort = (typeof SORTS)[number]

export interface WatchState {
  readonly locks: readonly LockInfo[]
  readonly truncated: boolean
  /** When the store answered, on the monotonic clock; undefined before the first answer. */
  readonly answeredMs: number | undefined
  /** Why the last request failed; undefined when it did not. */
  readonly failure: string | undefined
  readonly sort: Sort
  readonly reversed: boolean
  /** Only locks whose names contain this. */
  readonly filter: string
  /** Whether the keys go into the filter. */
  readonly typing: boolean
  /** The name of the selected lock; undefined for the first. */
  readonly selected: string | undefined
  /** Whether the selected lock is shown alone. */
  readonly opened: boolean
}

export const FIRST_STATE: WatchState = {
  locks: [],
  truncated: false,
  answeredMs: undefined,
  failure: undefined,
  sort: 'name',
  reversed: false,
  filter: '',
  typing: false,
  selected: undefined,
  opened: false,
}

/** The locks to show: filtered and sorted. */
export function visibleLocks({ locks, filter, sort, reversed }: WatchState): LockInfo[] {
  const wanted = locks.filter(({ lock }) => lock.includes(filter))
  const direction = reversed ? -1 : 1
  return wanted.toSorted((a, b) => direction * (compare(sort, a, b) || byName(a, b)))
}

function compare(sort: Sort, a: LockInfo, b: LockInfo): number {
  if (sort === 'name') return byName(a, b)
  if (sort === 'held for') return longestHeldMs(b) - longestHeldMs(a)
  if (sort === 'ttl left') return shortestTtlMs(a) - shortestTtlMs(b)
  return waiterCount(b) - waiterCount(a)
}

function byName(a: LockInfo, b: LockInfo): number {
  return a.lock < b.lock ? -1 : a.lock > b.lock ? 1 : 0
}

function longestHeldMs({ holders }: LockInfo): number {
  return Math.max(-1, ...holders.map(({ heldMs }) => heldMs))
}

function shortestTtlMs({ holders }: LockInfo): number {
  return Math.min(Number.MAX_VALUE, ...holders.map(({ remainingMs }) => remainingMs))
}

export function selectedLock(state: WatchState): LockInfo | undefined {
  const shown = visibleLocks(state)
  return shown.find(({ lock }) => lock === state.selected) ?? shown[0]
}

/** A character, or the name of a key such as `up`, `enter` or `escape`. */
export type Key = string

/** Returns the next state; `quit` for the keys that end the program. */
export function press(state: WatchState, key: Key, pageLines: number): WatchState | 'quit' {
  if (key === 'interrupt') return 'quit'
  if (state.typing) return type(state, key)
  const lines = linesOf(key, pageLines)
  if (lines !== undefined) return move(state, lines)
  switch (key) {
    case 'q':
      return 'quit'
    case 's':
      return { ...state, sort: SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] as Sort }
    case 'r':
      return { ...state, reversed: !state.reversed }
    case '/':
      return { ...state, typing: true, opened: false }
    case 'enter':
      return { ...state, opened: true, selected: selectedLock(state)?.lock }
    case 'escape':
      return state.opened ? { ...state, opened: false } : { ...state, filter: '' }
    default:
      return state
  }
}

/** Returns by how many lines a key moves the selection; undefined for the other keys. */
function linesOf(key: Key, pageLines: number): number | undefined {
  switch (key) {
    case 'up':
    case 'k':
      return -1
    case 'down':
    case 'j':
      return 1
    case 'page-up':
      return -pageLines
    case 'page-down':
      return pageLines
    case 'home':
    case 'g':
      return -Infinity
    case 'end':
    case 'G':
      return Infinity
    default:
      return undefined
  }
}

function type(state: WatchState, key: Key): WatchState {
  if (key === 'enter') return { ...state, typing: false }
  if (key === 'escape') return { ...state, typing: false, filter: '' }
  if (key === 'backspace')
    return { ...state, filter: Array.from(state.filter).slice(0, -1).join('') }
  return Array.from(key).length === 1 ? { ...state, filter: state.filter + key } : state
}

function move(state: WatchState, by: number): WatchState {
  if (state.opened) return state
  const shown = visibleLocks(state)
  if (shown.length === 0) return state
  const now = Math.max(
    0,
    shown.findIndex(({ lock }) => lock === state.selected),
  )
  const next = Math.min(Math.max(now + by, 0), shown.length - 1)
  return { ...state, selected: shown[next]?.lock }
}

/** Returns the locks as they are `ms` after the store's answer: ages grow, TTLs shrink. */
export function aged(locks: readonly LockInfo[], ms: number): LockInfo[] {
  return locks.map((info) => ({
    ...info,
    holders: info.holders.map((holder) => ({
      ...holder,
      heldMs: holder.heldMs + ms,
      remainingMs: Math.max(0, holder.remainingMs - ms),
    })),
    waiters: info.waiters.map((waiter) => ({ ...waiter, waitedMs: waiter.waitedMs + ms })),
  }))
}
