/** How a request to a service like ZooKeeper fails. */

export type FailureCode =
  /** The connection broke: the outcome is unknown. */
  | 'connection-loss'
  /** No server took the session in time: nothing was sent. */
  | 'timeout'
  | 'session-expired'
  | 'no-node'
  | 'bad-version'

export class OrderedFailure extends Error {
  override readonly name = 'OrderedFailure'
  readonly code: FailureCode

  constructor(code: FailureCode) {
    super(code)
    this.code = code
  }
}

export function hasCode(error: unknown, ...codes: readonly FailureCode[]): boolean {
  return error instanceof OrderedFailure && codes.includes(error.code)
}
