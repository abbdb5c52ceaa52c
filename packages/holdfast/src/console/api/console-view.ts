/** The view of one user, from what the looks have found. */
import { isLockError } from '../../errors.js'
import { redact } from '../../url/redact.js'
import type { Grant } from '../access/access.js'
import type { Sight } from '../access/sight.js'
import { holderView } from '../lock/holder-view.js'
import { lockView } from '../lock/lock-view.js'
import type { ShownStore } from '../shown-store.js'
import { rowOf } from '../table/rows.js'
import { troubleView } from '../trouble/trouble-view.js'
import type { ConsoleView, ElectionView, LockView, StoreView, Table } from '../view.js'
import type { ViewQuery } from './query.js'

/** What all views of a console have in common. */
export interface ViewFrame {
  readonly title: string
  readonly environment: string | undefined
  readonly stores: readonly string[]
  readonly isReadOnly: boolean
  readonly refreshMs: number
  readonly waitWarnMs: number
  readonly actions: ConsoleView['actions']
}

export interface Viewer {
  readonly grant: Grant
  readonly sight: Sight
  readonly query: ViewQuery
  /** Whether the store has answered about the lock of the query. */
  readonly isLockKnown: boolean
}

const MOST_ELECTIONS = 100

export function consoleView(store: ShownStore, frame: ViewFrame, viewer: Viewer): ConsoleView {
  const { grant, sight, query } = viewer
  const { looks } = store
  const { isReadOnly, environment, title, stores, refreshMs, waitWarnMs } = frame
  const nowMs = looks.moment.monotonicMs
  return {
    nowMs: Math.round(looks.moment.wallMs),
    title,
    ...(environment === undefined ? {} : { environment }),
    user: grant.user,
    may: grant.may.filter((word) => word === 'look' || !isReadOnly),
    ...(sight.prefix === '' ? {} : { prefix: sight.prefix, isPrefixLoose: sight.isLoose }),
    stores,
    store: storeView(store, sight),
    totals: store.totals(sight),
    lines: store.linesOf(sight).view(nowMs),
    ...troubleView(store.findings, looks, sight),
    table: tableView(store, sight, query),
    ...lockOf(store, viewer),
    ...electionViews(store, sight),
    actions: frame.actions.filter(
      (action) => action.store === store.storeName && sight.sees(action.lock),
    ),
    ...{ refreshMs, waitWarnMs },
  }
}

/** Wants the rows that are shown to be in each look. */
function tableView(store: ShownStore, sight: Sight, query: ViewQuery): Table {
  const { search, sort, offset, limit } = query
  const { looks, marks, findings } = store
  const fitting = store.table(sight, search, sort)
  const shown = fitting.slice(offset, offset + limit)
  looks.want(shown.map(({ lock }) => lock))
  const nowMs = looks.moment.monotonicMs
  const rows = shown.map((known) => {
    const { lock } = known
    const notes = { marks: marks.get(lock) ?? [], silentCount: findings.silent.count(lock) }
    return rowOf(known, notes, nowMs)
  })
  return { sort, search, offset, total: fitting.length, rows }
}

function lockOf(
  store: ShownStore,
  { sight, query, isLockKnown }: Viewer,
): { readonly lock?: LockView | null } {
  const { lock } = query
  if (lock === undefined) return {}
  const { looks, histories, source, findings } = store
  if (!sight.sees(lock)) return { lock: null }
  const history = histories.of(lock)
  const historySinceMs = histories.sinceMs(looks.moment.monotonicMs)
  const past = { history, historySinceMs, kind: histories.kindOf(lock) }
  const { storeOption } = source
  const view = lockView(lock, looks, past, { sight, storeOption, silent: findings.silent })
  // Until the store has answered, whether there is such a lock is unknown.
  return view === null && !isLockKnown ? {} : { lock: view }
}

function electionViews(
  { looks }: ShownStore,
  sight: Sight,
): Pick<ConsoleView, 'elections' | 'moreElections'> {
  const nowMs = looks.moment.monotonicMs
  const elections: ElectionView[] = []
  for (const known of looks.known.elections()) {
    if (!sight.sees(known.lock)) continue
    const [leader] = known.info.holders
    elections.push({
      lock: known.lock,
      ...(leader ? { leader: holderView(known, leader, nowMs) } : {}),
      candidates: known.info.waiters.length,
    })
  }
  const more = elections.length - MOST_ELECTIONS
  return {
    elections: elections
      .sort((one, other) => (one.lock < other.lock ? -1 : 1))
      .slice(0, MOST_ELECTIONS),
    ...(more > 0 ? { moreElections: more } : {}),
  }
}

function storeView({ storeName, source, looks, doctor }: ShownStore, sight: Sight): StoreView {
  const { health, moment } = looks
  const { state, latencyMs, sinceMs, error } = health
  const { address, locks } = source
  return {
    name: storeName,
    kind: locks.store.name,
    ...(address === undefined ? {} : { address }),
    state,
    ...(latencyMs === undefined ? {} : { latencyMs: Math.round(latencyMs * 10) / 10 }),
    ...(state === 'ok' ? {} : { sinceMs: Math.max(0, Math.round(moment.monotonicMs - sinceMs)) }),
    ageMs: Math.max(0, Math.round(moment.monotonicMs - looks.answeredMs)),
    ...(error === undefined ? {} : { error: errorView(error, sight) }),
    ...(doctor === undefined ? {} : { findings: doctor }),
  }
}

function errorView(error: unknown, sight: Sight): NonNullable<StoreView['error']> {
  const code = isLockError(error) ? error.code : 'ERROR'
  // The message may name locks that this user may not see.
  if (sight.prefix !== '') return { code, message: 'The store does not answer.' }
  return { code, message: redact(error instanceof Error ? error.message : String(error)) }
}
