/**
 * The embedded store. The grant rule runs inside SQLite transactions, and wake-ups go through unix
 * sockets. The end of a holder's connection reports the death of the holder.
 */
import { DEFAULT_POLL_RANGE_MS, LONGEST_TTL_MS } from '../../store/contract.js'
import type {
  AdoptResult,
  Adoption,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  ListQuery,
  LockInfo,
  NamesPage,
  Renewal,
  RenewalListener,
  RenewResult,
  StealOptions,
  StealResult,
  Store,
  Traits,
  WakeListener,
  Watch,
  WithdrawOutcome,
} from '../../store/contract.js'
import { renewEach } from '../../store/renew-each.js'
import * as rule from '../../store/grant-rule.js'
import { DeadHolderCleanup } from './peers/dead-holder-cleanup.js'
import type { StateFolder } from './folder/state-folder.js'
import { encodeGrant, parseGrant } from './wire.js'
import type { SocketAddress } from './folder/socket-address.js'
import { inspectInSteps } from './peers/inspect-in-steps.js'
import { Peers } from './peers/peers.js'
import { Presence } from './peers/presence.js'
import type { LockFile } from './database/lock-file.js'
import { LockFiles } from './database/lock-files.js'
import type { Machine } from './folder/machine.js'
import type { OpenedDatabase } from './database/schema.js'
import { WakeUpSocket } from './peers/wake-up-socket.js'
import type { Promotion } from './database/transaction.js'
import { FolderCleanup } from './peers/folder-cleanup.js'

/** What the store supports, in every folder. */
export const TRAITS: Traits = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'machine',
  adopt: true,
  ordered: true,
  pollRangeMs: DEFAULT_POLL_RANGE_MS,
  ttlRangeMs: [1, LONGEST_TTL_MS],
}

interface Answer {
  readonly result: AttemptResult
  /** The peers that hold the lock. */
  readonly holders: readonly SocketAddress[]
}

export class EmbeddedStore implements Store {
  readonly name = 'embedded'
  readonly traits = TRAITS
  readonly #folder: StateFolder
  readonly #files: LockFiles
  readonly #socket: WakeUpSocket
  readonly #peers: Peers
  readonly #presence: Presence
  readonly #deadHolders: DeadHolderCleanup
  readonly #cleanup: FolderCleanup
  readonly #watchers = new Map<string, WakeListener>()
  /** The locks that claims of ours wait for, and how many. */
  readonly #interests = new Map<string, number>()
  /** The claims whose attempts ask the database only when something else is known. */
  readonly #looks = new Set<{ readonly claimId: string; withdrawn: boolean }>()
  #closed = false

  constructor(folder: StateFolder, machine: Machine) {
    this.#folder = folder
    this.#files = new LockFiles(
      folder,
      machine,
      (promotions, file) => this.#wake(promotions, file),
      (id, socket) => this.#peers.mayListen(id, socket),
    )
    this.#socket = new WakeUpSocket(folder, (text) => this.#deliver(text))
    this.#peers = new Peers((address) => void this.#deadHolders.takeOver(address))
    this.#deadHolders = new DeadHolderCleanup(machine, this.#files, this.#peers, this.#interests)
    this.#cleanup = new FolderCleanup(folder, machine, this.#socket.id, this.#peers, (dead) =>
      this.#takeOverFound(dead),
    )
    this.#presence = new Presence({
      folder,
      machine,
      files: this.#files,
      socket: this.#socket,
      cleanup: this.#cleanup,
      peers: this.#peers,
    })
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const answer = this.#presence.isListening
      ? await this.#attempt(claim, options)
      : await this.#attemptAfter(this.#presence.listen(claim.lock), claim, options)
    const { result, holders } = answer
    if (result.outcome === 'waiting') for (const holder of holders) this.#peers.watch(holder)
    if (result.outcome !== 'busy' || holders.length === 0) return result
    // This claim makes no later attempt, so a dead holder has to be found now.
    const look = Promise.all(
      holders.map((holder) => this.#deadHolders.endIfDead(claim.lock, holder)),
    )
    const stands = look.then((ended) => (ended.includes(true) ? undefined : answer))
    return (await this.#attemptAfter(stands, claim, options)).result
  }

  renew(renewals: readonly Renewal[], report?: RenewalListener): Promise<readonly RenewResult[]> {
    const renewOne = (renewal: Renewal): Promise<RenewResult> =>
      this.#files.of(renewal.lock).transactions.do({
        claimId: renewal.id,
        work: (transaction) =>
          transaction.onLock(renewal.lock, (state, step) => rule.renew(state, renewal, step)),
      })
    return renewEach(renewals, renewOne, report)
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    for (const running of this.#looks) if (running.claimId === claim.id) running.withdrawn = true
    return this.#files.of(claim.lock).transactions.do({
      claimId: claim.id,
      first: true,
      work: (transaction) =>
        transaction.onLock(claim.lock, (state, step) => rule.withdraw(state, claim, step)),
    })
  }

  downgrade(claim: ClaimRef): Promise<boolean> {
    return this.#files.of(claim.lock).transactions.do({
      claimId: claim.id,
      work: (transaction) =>
        transaction.onLock(claim.lock, (state, step) => rule.downgrade(state, claim, step)),
    })
  }

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.#files.of(lock).transactions.do({
      work: (transaction) =>
        transaction.onLock(lock, (state, step) => rule.steal(state, options, step)),
    })
  }

  /** A detached claim belongs to no socket: no death of a process ends it. */
  async adopt(adoption: Adoption): Promise<AdoptResult> {
    const { from, to, detached } = adoption
    const file = this.#files.of(to.lock)
    if (!this.#presence.isListening) await this.#presence.listen(to.lock)
    let generation = 0
    const result = await file.transactions.do({
      claimId: from.id,
      work: (transaction) =>
        transaction.onLock(to.lock, (state, step, { peerIds }) => {
          generation = this.#presence.register(file, transaction)
          const adopted = rule.adopt(state, adoption, step)
          if (adopted.outcome === 'granted') peerIds.set(to.id, detached ? '' : this.#socket.id)
          return adopted
        }),
    })
    if (file.confirmRegistration(generation)) await this.#presence.moveIn(file)
    return result
  }

  /** Our socket listens before the first claim is made, so a message cannot come too early. */
  watch(claim: Claim, wake: WakeListener): Watch {
    this.#watchers.set(claim.id, wake)
    this.#interests.set(claim.lock, (this.#interests.get(claim.lock) ?? 0) + 1)
    let open = true
    return {
      ready: undefined,
      close: () => {
        if (!open) return
        open = false
        this.#watchers.delete(claim.id)
        const left = (this.#interests.get(claim.lock) ?? 1) - 1
        if (left > 0) this.#interests.set(claim.lock, left)
        else this.#interests.delete(claim.lock)
      },
    }
  }

  list(query: ListQuery): Promise<NamesPage> {
    return this.#files.list(query)
  }

  inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<LockInfo[]> {
    const look = { files: this.#files, ownId: this.#socket.id, waitersUpTo }
    return inspectInSteps(look, this.#deadHolders, locks)
  }

  /** The engine, the versions and the journal: for `doctor`. */
  describeDatabase(): Promise<OpenedDatabase> {
    return this.#files.ready()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#deadHolders.close()
    await this.#cleanup.close()
    await Promise.all(this.#files.all.map((file) => file.unregister(this.#socket.id)))
    this.#files.close()
    this.#socket.close()
    this.#peers.close()
    this.#watchers.clear()
    this.#folder.close?.()
  }

  /**
   * Attempts when a check is over, unless the check brought an answer. It does not attempt a claim
   * that was withdrawn meanwhile. The lock keeps few tombstones: that of the claim may be gone, and
   * the attempt would grant a lock without a holder.
   */
  async #attemptAfter(
    look: Promise<Answer | undefined>,
    claim: Claim,
    options: AttemptOptions,
  ): Promise<Answer> {
    const running = { claimId: claim.id, withdrawn: false }
    this.#looks.add(running)
    try {
      const answer = await look
      if (running.withdrawn) return { result: { outcome: 'withdrawn' }, holders: [] }
      return answer ?? (await this.#attempt(claim, options))
    } finally {
      this.#looks.delete(running)
    }
  }

  async #attempt(claim: Claim, options: AttemptOptions): Promise<Answer> {
    const file = this.#files.of(claim.lock)
    let generation = 0
    const answer = await file.transactions.do({
      claimId: claim.id,
      work: (transaction) =>
        transaction.onLock(claim.lock, (state, step, { peerIds }) => {
          generation = this.#presence.register(file, transaction)
          peerIds.set(claim.id, this.#socket.id)
          const result = rule.attempt(state, claim, options, step)
          if (result.outcome === 'granted') return { result, holders: [] }
          const ids = new Set<string>()
          for (const id of state.holders.keys()) {
            const peerId = peerIds.get(id) ?? ''
            // A waiter needs the addresses of those alone that this store does not watch yet.
            if (result.outcome === 'waiting' && this.#peers.isWatched(peerId)) continue
            ids.add(peerId)
          }
          return { result, holders: file.addressesOf(transaction, ids, this.#socket.id) }
        }),
    })
    if (file.confirmRegistration(generation)) await this.#presence.moveIn(file)
    return answer
  }

  /** Ends the claims of a dead peer whose socket the cleanup found. */
  async #takeOverFound(dead: SocketAddress): Promise<void> {
    const address = await this.#files.findPeer(dead.id)
    await this.#deadHolders.takeOver({
      ...dead,
      pidNamespace: address?.pidNamespace ?? dead.pidNamespace,
    })
  }

  /** Wakes new holders: those of this store at once, the others through their sockets. */
  #wake(promotions: readonly Promotion[], file: LockFile): void {
    for (const { holder, peerId } of promotions) {
      const { id, token, tokens, ttlMs } = holder
      if (peerId === this.#socket.id)
        this.#watchers.get(id)?.({ token: BigInt(token), tokens, ttlMs })
      else void this.#send(peerId, encodeGrant(holder), file)
    }
  }

  /** A message that gets lost costs its receiver a heartbeat. */
  async #send(peerId: string, text: string, file: LockFile): Promise<void> {
    if (this.#peers.sendTo(peerId, text)) return
    const address = await this.#files.findPeer(peerId, file)
    if (address && !this.#closed) this.#peers.send(address, text)
  }

  #deliver(text: string): void {
    const grant = parseGrant(text)
    if (!grant) return
    // Where other users can write to our socket a message is only a hint: the database says whether
    // it is true.
    this.#watchers.get(grant.id)?.(this.#folder.shared ? undefined : grant)
  }
}
