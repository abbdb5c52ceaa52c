/**
 * A store as a process sees it. Every verb is a message to the server and a message back, either of
 * which may be late, lost or doubled. After a while without an answer the outcome counts as
 * unknown.
 */
import { isLockError, StoreUnavailableError } from 'holdfast'
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  ListQuery,
  LockInfo,
  NamesPage,
  PushedGrant,
  Renewal,
  RenewResult,
  StealOptions,
  StealResult,
  Store,
  Traits,
  WakeListener,
  Watch,
  WithdrawOutcome,
} from 'holdfast/store'
import type { Claimants } from '../workload/claimants.js'
import type { Link } from '../world/link.js'
import type { Process } from '../world/process.js'
import type { Host } from './host.js'
import type { Truth } from './truth.js'

/** What the server sends unasked. */
export type WakeSender = (grant: PushedGrant | undefined) => void

/** The far end of the messages. */
export interface StoreServer {
  readonly host: Host
  readonly truth: Truth
  readonly store: Store
  subscribe(claim: Claim, send: WakeSender): void
  unsubscribe(claimId: string): void
}

type Answer<T> = { readonly value: T } | { readonly error: unknown }

export interface RemoteStoreOptions {
  readonly process: Process
  readonly link: Link
  readonly server: StoreServer
  readonly requestTimeoutMs: number
  readonly claimants: Claimants
}

export class RemoteStore implements Store {
  readonly name: string
  readonly traits: Traits
  readonly #process: Process
  readonly #link: Link
  readonly #server: StoreServer
  readonly #requestTimeoutMs: number
  readonly #claimants: Claimants

  constructor({ process, link, server, requestTimeoutMs, claimants }: RemoteStoreOptions) {
    this.name = server.store.name
    this.traits = server.store.traits
    this.#process = process
    this.#link = link
    this.#server = server
    this.#requestTimeoutMs = requestTimeoutMs
    this.#claimants = claimants
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const { lock, id } = claim
    this.#claimants.sent(lock, id)
    const { truth } = this.#server
    return this.#call('attempt', [lock], (store) => {
      const answer = now(store.attempt(claim, options))
      if (answer.outcome === 'granted') truth.reserved(id, answer)
      else if (answer.outcome === 'busy') truth.refused(id)
      return answer
    })
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewResult[]> {
    const locks = [...new Set(renewals.map(({ lock }) => lock))]
    return this.#call('renewal', locks, (store) => now(store.renew(renewals)))
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    return this.#call('withdraw', [claim.lock], (store) => {
      this.#server.truth.withdrawn(claim)
      return now(store.withdraw(claim))
    })
  }

  downgrade(claim: ClaimRef): Promise<boolean> {
    return this.#call('downgrade', [claim.lock], (store) => now(store.downgrade(claim)))
  }

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.#call('steal', [lock], (store) => now(store.steal(lock, options)))
  }

  list(query: ListQuery): Promise<NamesPage> {
    return this.#call('list', [], (store) => now(store.list(query)))
  }

  inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<readonly LockInfo[]> {
    return this.#call('inspect', [], (store) => now(store.inspect(locks, waitersUpTo)))
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    let open = true
    const { id } = claim
    const ready = this.#call('watch', [], () =>
      this.#server.subscribe(claim, (grant) => {
        if (grant) this.#server.truth.reserved(id, grant)
        const { swellsWakes } = this.#link.conditions
        this.#link.wake(() => {
          this.#process.receive(() => {
            if (open) wake(grant && { ...grant, ttlMs: grant.ttlMs * swellsWakes })
          })
        })
      }),
    )
    return {
      ready,
      close: () => {
        open = false
        this.#call('unwatch', [], () => this.#server.unsubscribe(id)).catch(() => undefined)
      },
    }
  }

  close(): void {
    // The connections belong to the world.
  }

  /**
   * Sends a request and waits for its answer. The server looks at the locks that it touched once it
   * is done.
   */
  #call<T>(verb: string, locks: readonly string[], handle: (store: Store) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.#process.timer(this.#requestTimeoutMs, () =>
        reject(this.#unknown(verb, 'no answer came')),
      )
      const settle = (answer: Answer<T>): void => {
        timer.cancel()
        if ('error' in answer) reject(answer.error)
        else resolve(answer.value)
      }
      this.#exchange(verb, locks, handle, settle)
    })
  }

  #exchange<T>(
    verb: string,
    locks: readonly string[],
    handle: (store: Store) => T,
    settle: (answer: Answer<T>) => void,
  ): void {
    const lane = this.#link.lane()
    const answer = (value: Answer<T>): void =>
      void this.#link.reply(lane, () => this.#process.receive(() => settle(value)))
    this.#link.request(lane, () => {
      if (this.#server.host.down) {
        answer({ error: this.#unknown(verb, 'the connection was refused') })
        return
      }
      this.#server.host.receive(() => {
        const { store } = this.#server
        const value = attemptTo(() => handle(store))
        for (const lock of locks) this.#server.truth.observe(lock, store)
        answer(value)
      })
    })
  }

  #unknown(verb: string, why: string): StoreUnavailableError {
    return new StoreUnavailableError(`The outcome of the ${verb} is unknown: ${why}.`, {
      store: this.name,
    })
  }
}

function attemptTo<T>(step: () => T): Answer<T> {
  try {
    return { value: step() }
  } catch (error) {
    // A refusal of the store is an answer; anything else is a mistake in the store or in the
    // simulator.
    if (isLockError(error)) return { error }
    throw error
  }
}

function now<T>(answer: T | PromiseLike<T>): T {
  if (typeof answer === 'object' && answer !== null && 'then' in answer) {
    throw new Error('The store of a server must answer at once.')
  }
  return answer
}
