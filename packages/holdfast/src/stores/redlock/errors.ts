/**
 * The errors of a store made of stores. The cause of an error holds the errors of the nodes.
 */
import {
  isLockError,
  StoreUnavailableError,
  UnsupportedLockError,
  type LockError,
} from '../../errors.js'

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
