/**
 * The errors of a store made of stores. The cause of an error holds the errors of the nodes.
 */
import {
  isLockError,
  StoreUnavailableError,
  UnsupportedLockError,
  type LockError,
  type UnavailableCode,
} from '../../errors.js'

import { majorityOf } from './nodes/quorum.js'

export const STORE_NAME = 'redlock'

/** Returns any failure of one node as an error of Holdfast. */
export function asLockError(error: unknown): LockError {
  if (isLockError(error)) return error
  const message = error instanceof Error ? error.message : String(error)
  return new StoreUnavailableError(message, { store: STORE_NAME, cause: error })
}

export function noAnswer(timeoutMs: number): StoreUnavailableError {
  return new StoreUnavailableError(`no answer within ${Math.round(timeoutMs)} ms`, {
    store: STORE_NAME,
  })
}

export function withdrawalPending(): StoreUnavailableError {
  return new StoreUnavailableError('it has not confirmed an earlier withdrawal yet', {
    store: STORE_NAME,
  })
}

/**
 * Too few nodes answered, or those that did disagree. When all failures have one cause, such as a
 * wrong password everywhere, the error has its code.
 * @param failures by the place of the node in the list of clients
 */
export function noMajority(
  what: string,
  nodes: number,
  failures: ReadonlyMap<number, LockError>,
  lock?: string,
): LockError {
  const codes = new Set([...failures.values()].map(({ code }) => code))
  const [only] = codes
  const [failure] = failures.values()
  // All clients were closed before the store.
  if (codes.size === 1 && only === 'LOCKS_CLOSED' && failure) return failure
  const alike =
    codes.size === 1 &&
    (only === 'STORE_AUTH' || only === 'STORE_CONFIG' || only === 'STORE_FORMAT')
  const code: UnavailableCode = alike ? only : 'STORE_UNAVAILABLE'
  const said = [...failures]
    .map(([index, { message }]) => `node ${index + 1}: ${message}`)
    .join('; ')
  const left =
    nodes - failures.size >= majorityOf(nodes) ? 'the others disagree' : 'no majority is left'
  return new StoreUnavailableError(
    `Redlock: ${failures.size} of ${nodes} nodes failed at ${what}, and ${left} (${said}). ` +
      'Check that most of the servers run and can be reached.',
    {
      code,
      lock,
      store: STORE_NAME,
      cause: new AggregateError([...failures.values()], 'what the nodes said'),
    },
  )
}

/** @param tokens what each node voted with, by its place in the list of clients */
export function clocksApart(
  lock: string,
  tokens: readonly (bigint | undefined)[],
  maxClockDifferenceMs: number,
): StoreUnavailableError {
  const clocks = tokens.flatMap((token, index) =>
    token === undefined ? [] : [`node ${index + 1}: ${timeOf(token)}`],
  )
  return new StoreUnavailableError(
    `Redlock: no majority of the servers has clocks within ${maxClockDifferenceMs} ms of each other ` +
      `(maxClockDifferenceMs), so "${lock}" gets no fencing token (${clocks.join('; ')}). ` +
      'Synchronise the clocks of the servers, with NTP for instance.',
    { code: 'STORE_CONFIG', lock, store: STORE_NAME },
  )
}

/** A token is a time of the server's clock in microseconds, or the last token plus one. */
function timeOf(token: bigint): string {
  return new Date(Number(token / 1000n)).toISOString()
}

export function tooLate(
  what: 'granted' | 'renewed' | 'passed on',
  lock: string,
  ttlMs: number,
  elapsedMs: number,
): StoreUnavailableError {
  return new StoreUnavailableError(
    `Redlock: a majority ${what} "${lock}", but after ${Math.round(elapsedMs)} ms nothing was left ` +
      `of its TTL of ${ttlMs} ms. Use a longer TTL, or nodes that are nearer.`,
    { lock, store: STORE_NAME },
  )
}

export function noSemaphore(lock: string): UnsupportedLockError {
  return new UnsupportedLockError(
    `The redlock store has no semaphore ("${lock}"): majorities of nodes cannot count permits. ` +
      'It offers mutex and readWriteLock; use the Redis store for semaphores.',
    { lock, store: STORE_NAME },
  )
}
