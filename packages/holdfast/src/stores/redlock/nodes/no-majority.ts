import { StoreUnavailableError, type LockError, type UnavailableCode } from '../../../errors.js'
import { STORE_NAME } from '../errors.js'
import { majorityOf } from './quorum.js'

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
