/** What the wake-ups of a client need of a server or a Cluster. */

export interface MessageListener {
  message(text: string): void
  /** Messages may have been missed: those about this lock, or about any. */
  missed(lock?: string): void
}

/**
 * The command and the channel with which scripts publish grants to this client: the same for all
 * locks, or made for each.
 */
export type PublishTo = string | ((lock: string) => string)

export interface Subscriptions {
  readonly publishTo: PublishTo
  /** Listens for grants of this lock, until every subscription to it is left. */
  join(lock: string): Subscription
  close(): void
}

export interface Subscription {
  /** Undefined when it works already. */
  readonly ready: Promise<void> | undefined
  leave(): void
}
