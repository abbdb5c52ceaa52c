/** Writes events to a logger. */
import { isLockError, LockUsageError } from '../../errors.js'
import { describe } from '../../options/describe.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { plainOf } from '../../store/with-json.js'
import { EVENT_NAMES, type LockEventName, type LockEvents } from './events.js'
import { onLockEvent } from './listen-to-events.js'

/** The levels that `logLockEvents` uses. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

/** A logger like pino and bunyan: the fields come first, and then the text. */
export type LockLogger = Readonly<Record<LogLevel, (fields: object, text: string) => void>>

/** The options of `logLockEvents`. */
export interface LogOptions {
  /**
   * The level of an event; `silent` leaves it out. Frequent events, which come for each lease, are
   * silent unless they have a level here.
   */
  readonly levels?: Readonly<Partial<Record<LockEventName, LogLevel | 'silent'>>> | undefined
}

const KEYS: KnownKeys<LogOptions> = { levels: 1 }
const LEVELS: readonly unknown[] = ['error', 'warn', 'info', 'debug', 'silent']

const EVENT_KEYS = Object.fromEntries(EVENT_NAMES.map((name) => [name, 1])) as KnownKeys<
  Record<LockEventName, unknown>
>

const DEFAULT_LEVELS: Readonly<Record<LockEventName, LogLevel | 'silent'>> = {
  attempted: 'silent',
  queued: 'silent',
  granted: 'silent',
  'handed-off': 'silent',
  busy: 'silent',
  'timed-out': 'warn',
  aborted: 'silent',
  renewed: 'silent',
  'renewal-unknown': 'warn',
  'at-risk': 'warn',
  safe: 'info',
  forgotten: 'warn',
  'self-wait': 'warn',
  lost: 'error',
  released: 'silent',
  exported: 'info',
  election: 'info',
  'store-unavailable': 'warn',
  'helper-lost': 'warn',
  error: 'error',
}

/**
 * Logs the events of all clients of the process. Returns a function that stops it.
 * @throws LockUsageError when the logger or an option makes no sense.
 */
export function logLockEvents(logger: LockLogger, options: LogOptions = {}): () => void {
  checkLogger(logger)
  checkKeys('logLockEvents', options, KEYS)
  const levels = checkedLevels(options.levels)
  const stops = EVENT_NAMES.flatMap((name) => {
    const level = levels[name] ?? DEFAULT_LEVELS[name]
    return level === 'silent' ? [] : [logEvent(logger, name, level)]
  })
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}

function logEvent(logger: LockLogger, name: LockEventName, level: LogLevel): () => void {
  return onLockEvent(name, (event) => {
    const about = 'lock' in event ? `"${event.lock}"` : `client ${event.clientId}`
    logger[level](fieldsOf(name, event), `holdfast ${name}: ${about}`)
  })
}

/** Loggers write no bigint, and errors under the name `err`. */
function fieldsOf<N extends LockEventName>(event: N, message: LockEvents[N]): object {
  const { error, token, ...fields } = message as LockEvents[N] & {
    readonly error?: unknown
    readonly token?: bigint
  }
  return {
    event,
    ...fields,
    ...(token === undefined ? {} : { token: String(token) }),
    // Fields of a foreign error may hold passwords.
    ...(error === undefined ? {} : { err: isLockError(error) ? error : plainOf(error) }),
  }
}

function checkLogger(logger: unknown): void {
  const methods = (logger ?? {}) as Readonly<Record<string, unknown>>
  const missing = ['error', 'warn', 'info', 'debug'].find(
    (level) => typeof methods[level] !== 'function',
  )
  if (missing === undefined) return
  throw new LockUsageError(
    `logLockEvents takes a logger like pino, with the methods error, warn, info and debug; ${describe(logger)} has no ${missing}.`,
  )
}

/** @throws LockUsageError for an unknown event or level. */
function checkedLevels(levels: LogOptions['levels'] = {}): NonNullable<LogOptions['levels']> {
  checkKeys('levels of logLockEvents', levels, EVENT_KEYS)
  for (const [name, level] of Object.entries(levels)) {
    if (level === undefined || LEVELS.includes(level)) continue
    throw new LockUsageError(
      `The level of ${name} in logLockEvents must be ${LEVELS.join(', ')}, not ${describe(level)}.`,
    )
  }
  return levels
}
