/**
 * Withdrawals that no server has answered, of claims with an attempt that may still be sent.
 *
 * Without a connection, a client library keeps the commands that it cannot send, and those in
 * flight when the connection broke (`enableOfflineQueue`, `autoResendUnfulfilledCommands`). It
 * would then take a lock for a caller that has given up, and may have closed its store. So the
 * withdrawal follows as soon as a connection is ready, also when its store was closed since. The
 * server refuses the attempt in either order of arrival.
 */
import type { Deployment } from '../connection/deployment.js'
import type { ClaimRef } from '../../../store/contract.js'

/** How many claims are remembered. Others end with their TTL. */
const MOST_KEPT = 10_000

export class LateWithdrawals {
  readonly #claims = new Map<string, ClaimRef>()
  readonly #connection: Pick<Deployment, 'whenReady'>
  readonly #send: (claim: ClaimRef) => void
  #stopWatching: (() => void) | undefined

  /** @param send sends a withdrawal without waiting for the answer */
  constructor(connection: Pick<Deployment, 'whenReady'>, send: (claim: ClaimRef) => void) {
    this.#connection = connection
    this.#send = send
  }

  add(claim: ClaimRef): void {
    if (this.#claims.size >= MOST_KEPT) return
    this.#claims.set(claim.id, claim)
    this.#stopWatching ??= this.#connection.whenReady(() => this.#sendAll())
  }

  /** The server has answered, or the claim is attempted again. */
  delete(claimId: string): void {
    if (this.#claims.delete(claimId) && this.#claims.size === 0) this.#stop()
  }

  #sendAll(): void {
    this.#stop()
    for (const claim of this.#claims.values()) this.#send(claim)
    this.#claims.clear()
  }

  #stop(): void {
    this.#stopWatching?.()
    this.#stopWatching = undefined
  }
}
