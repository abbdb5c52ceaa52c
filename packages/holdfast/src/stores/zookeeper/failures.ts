/** What went wrong in ZooKeeper, and what that means for us. */
import { isLockError, StoreUnavailableError, type LockError } from '../../errors.js'

/** Return codes of the official client. */
export const CODES = {
  connectionLoss: -4,
  timeout: -7,
  invalidState: -9,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  sessionExpired: -112,
  authFailed: -115,
  closing: -116,
  sessionMoved: -118,
} as const

/** A request that ZooKeeper or its client refused. */
export class ZooKeeperFailure extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The client's promises reject with an error whose text begins with the code. */
export function asFailure(error: unknown): ZooKeeperFailure {
  const text = error instanceof Error ? error.message : String(error)
  const code = Number(/^(-\d+) /.exec(text)?.[1] ?? /(-\d+)"?$/.exec(text)?.[1] ?? 0)
  return new ZooKeeperFailure(code, text.replace(/^-\d+ /, ''))
}

export function hasCode(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof ZooKeeperFailure && codes.includes(error.code)
}

/** Whether the session is gone for good. */
export function isSessionGone(error: unknown): boolean {
  return hasCode(error, CODES.sessionExpired, CODES.closing, CODES.invalidState)
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
    return made(
      'STORE_AUTH',
      'Give zookeeperStore the auth that made the nodes under /holdfast, or a chroot of its own.',
    )
  }
  return made('STORE_UNAVAILABLE', 'Look at the servers and the network.')
}
