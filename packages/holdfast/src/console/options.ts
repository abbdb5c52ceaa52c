/** The options of `locksConsole`, checked. */
import { LockUsageError } from '../errors.js'
import type { Locks } from '../locks/create.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { checkBoolean, checkDuration } from '../options/lock-options.js'
import type { Authorize } from './access/access.js'
import type { ActionListener } from './actions/audit.js'

/** The options of `locksConsole`. */
export interface ConsoleOptions {
  /** The locks to show, or several stores by their names on the page. */
  readonly locks: Locks | Readonly<Record<string, Locks>>
  /** Decides who may see and do what. There is no default: it is asked for each request. */
  readonly authorize: Authorize
  /** Whether each steal is refused. Default true. */
  readonly readOnly?: boolean | undefined
  /** The time between two looks at the store, while there are viewers. Default 2 000 ms. */
  readonly refreshMs?: number | undefined
  /** A waiter that has waited for this long is trouble. Default 30 000 ms. */
  readonly waitWarnMs?: number | undefined
  /** Such as `https://admin.example.com`: for a console behind a proxy that rewrites `Host`. */
  readonly origin?: string | undefined
  /** Called for each action of a user, and for each that was refused: for a log. */
  readonly onAction?: ActionListener | undefined
  /** The title of the page. Default `Holdfast`. */
  readonly title?: string | undefined
  /** Shown beside the title, such as `production`. */
  readonly environment?: string | undefined
}

const KEYS: KnownKeys<ConsoleOptions> = {
  locks: 1,
  authorize: 1,
  readOnly: 1,
  refreshMs: 1,
  waitWarnMs: 1,
  origin: 1,
  onAction: 1,
  title: 1,
  environment: 1,
}
const SHORTEST_REFRESH_MS = 250

/** @throws LockUsageError when an option makes no sense. */
export function checkOptions(options: ConsoleOptions): void {
  checkKeys('locksConsole', options, KEYS)
  const { authorize, readOnly, refreshMs, waitWarnMs, origin, onAction, title, environment } =
    options
  if (typeof authorize !== 'function') {
    throw new LockUsageError(
      `locksConsole needs authorize, a function that decides who may see the locks, not ${describe(authorize)}.`,
    )
  }
  if (onAction !== undefined && typeof onAction !== 'function')
    throw new LockUsageError(`onAction must be a function, not ${describe(onAction)}.`)
  if (readOnly !== undefined) checkBoolean('readOnly', readOnly)
  if (refreshMs !== undefined) checkDuration('refreshMs', refreshMs, { min: SHORTEST_REFRESH_MS })
  if (waitWarnMs !== undefined) checkDuration('waitWarnMs', waitWarnMs, { min: 1 })
  for (const [name, text] of Object.entries({ title, environment })) {
    if (text !== undefined && typeof text !== 'string')
      throw new LockUsageError(`${name} must be a string, not ${describe(text)}.`)
  }
  checkOriginOption(origin)
}

function checkOriginOption(origin: unknown): void {
  if (origin === undefined) return
  if (typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin)
    return
  throw new LockUsageError(
    `origin must be a scheme, a host and nothing behind them, such as 'https://admin.example.com', not ${describe(origin)}.`,
  )
}

/** @throws LockUsageError unless these are the locks of one store, or of several by their names. */
export function storesOf(locks: ConsoleOptions['locks']): ReadonlyMap<string, Locks> {
  if (isLocks(locks)) return new Map([[locks.store.name, locks]])
  const entries = typeof locks === 'object' && locks !== null ? Object.entries(locks) : []
  if (entries.length > 0 && entries.every(([, value]) => isLocks(value))) return new Map(entries)
  throw new LockUsageError(
    `locksConsole needs locks of createLocks, or several by name, not ${describe(locks)}.`,
  )
}

function isLocks(value: unknown): value is Locks {
  const { store, inspect } = (value ?? {}) as Partial<Locks>
  return typeof inspect === 'function' && typeof store?.inspect === 'function'
}
