/** Whether a connection that a pool of `pg` lends is inside of a transaction. */
import { warnOnce } from '../../sql/connection/warn-once.js'

/** `I`: outside, `T`: inside, `E`: inside of one that failed. */
type Status = string

/** As much of a client of `pg` as is used. */
export interface WithTransactionStatus {
  /** Of `pg` 8.18 and later. */
  getTransactionStatus?(): Status | null
  readonly connection?: {
    on(event: 'readyForQuery', listener: (message: { readonly status?: Status }) => void): unknown
  }
}

/** Clients of earlier versions, and what their server said last. */
const statuses = new WeakMap<object, { status: Status | undefined }>()

/**
 * Returns the status that the server sent with its last answer. It is undefined when a client of an
 * earlier version is seen first.
 */
export function transactionStatusOf(client: WithTransactionStatus): Status | undefined {
  if (client.getTransactionStatus) return client.getTransactionStatus() ?? undefined
  const known = statuses.get(client)
  if (known) return known.status
  const seen: { status: Status | undefined } = { status: undefined }
  statuses.set(client, seen)
  client.connection?.on('readyForQuery', ({ status }) => (seen.status = status))
  return undefined
}

/** What Holdfast did about a transaction that a program left open. */
export const ROLLED_BACK = 'rolled it back'

export function warnOfOpenTransaction(did = 'took another connection'): void {
  warnOnce(
    'HOLDFAST_OPEN_TRANSACTION',
    `A program returned a connection to the pool inside of a transaction. Holdfast ${did}, since the program could ` +
      'undo a grant there. End each transaction before its connection returns to the pool.',
  )
}
