/** What went wrong in ZooKeeper, and what that means for us. */
import { isLockError, StoreUnavailableError, type LockError } from '../../errors.js'

/** Return codes of ZooKeeper, and those that its clients use for what never reached it. */
export const CODES = {
  connectionLoss: -4,
  timeout: -7,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  sessionExpired: -112,
  authFailed: -115,
  sessionMoved: -118,
} as const

const NAMES = new Map<number, string>(Object.entries(CODES).map(([name, code]) => [code, name]))

/** A request that ZooKeeper refused, or that has no answer. */
export class ZooKeeperFailure extends Error {
  /** Minifiers rename the class. */
  static override readonly name: string = 'ZooKeeperFailure'
  readonly code: number

  constructor(
    code: number,
    message = (NAMES.get(code) ?? 'error').replace(/[A-Z]/g, ' $&').toLowerCase(),
  ) {
    super(`${message} (${code})`)
    this.code = code
  }
}

export function hasCode(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof ZooKeeperFailure && codes.includes(error.code)
}

/** Whether the session is gone for good. */
export function isSessionGone(error: unknown): boolean {
  return hasCode(error, CODES.sessionExpired)
}

/** What ZooKeeper itself answers is below this; what is said of a connection is above. */
const ANSWERS_BELOW = -100

/** Whether it was refused in an answer, here or there, so that it certainly did nothing. */
export function isRefusal(error: unknown): boolean {
  if (isLockError(error)) return error.code !== 'STORE_UNAVAILABLE'
  if (hasCode(error, CODES.sessionExpired, CODES.sessionMoved)) return false
  return error instanceof ZooKeeperFailure && error.code < ANSWERS_BELOW
}

/** Any failure as an error of Holdfast, with advice where there is some. */
export function asLockError(error: unknown, connect: string): LockError {
  if (isLockError(error)) return error
  const text = error instanceof Error ? error.message : String(error)
  const made = (code: 'STORE_UNAVAILABLE' | 'STORE_AUTH', advice: string): LockError =>
    new StoreUnavailableError(`ZooKeeper at ${connect} failed: ${text}. ${advice}`, {
      code,
      store: 'zookeeper',
      cause: error,
    })
  if (hasCode(error, CODES.noAuth, CODES.authFailed)) {
    const chroot = /\/.*$/.exec(connect)?.[0] ?? ''
    return made(
      'STORE_AUTH',
      `Give zookeeperStore the auth that made the nodes under ${chroot}/holdfast, or a chroot of its own.`,
    )
  }
  return made('STORE_UNAVAILABLE', 'Look at the servers and the network.')
}

/** @param silentMs for how long no server answered; undefined when none takes a connection */
export function noServer(
  connect: string,
  silentMs: number | undefined,
  why: Error | undefined,
): StoreUnavailableError {
  const what =
    silentMs === undefined
      ? 'cannot be reached'
      : `did not answer within ${Math.round(silentMs)} ms`
  return new StoreUnavailableError(
    `ZooKeeper at ${connect} ${what}${why ? ` (${why.message})` : ''}. Look at the servers and the network.`,
    { store: 'zookeeper', cause: why },
  )
}
