/**
 * The embedded store: the grant rule inside SQLite transactions, wake-ups through unix sockets, and
 * the death of a holder noticed by the end of its connection.
 */
import { DEFAULT_POLL_RANGE_MS, LONGEST_TTL_MS } from '../../store/contract.js'
import type {
  AdoptResult,
  Adoption,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  InspectPage,
  InspectQuery,
  PushedGrant,
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
import { DeadHolderCleanup } from './dead-holder-cleanup.js'
import type { StateFolder } from './directory.js'
import type { SocketAddress } from './peer-socket.js'
import { addressesOf, type LockFile } from './lock-file.js'
import { LockFiles } from './lock-files.js'
import type { Machine } from './machine.js'
import { explain, type OpenedDatabase } from './schema.js'
import { WakeupSocket } from './wakeup-socket.js'
import type { Promotion } from './transaction.js'
import { FolderCleanup } from './folder-cleanup.js'

const TRAITS: Traits = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'machine',
  downgrade: true,
  adopt: true,
  steal: true,
  inspect: true,
  ordered: true,
  pollRangeMs: DEFAULT_POLL_RANGE_MS,
  ttlRangeMs: [1, LONGEST_TTL_MS],
}

interface Answer {
  readonly result: AttemptResult
  /** The stations of the lock's holders, without our own. */
  readonly holders: readonly SocketAddress[]
}

export class EmbeddedStore implements Store {
  readonly name = 'embedded'
  readonly traits = TRAITS
  readonly #folder: StateFolder
  readonly #machine: Machine
  readonly #files: LockFiles
  readonly #socket: WakeupSocket
  readonly #deadHolders: DeadHolderCleanup
  readonly #cleanup: FolderCleanup
  readonly #watchers = new Map<string, WakeListener>()
  /** The locks that claims of ours wait for, and how many. */
  readonly #interests = new Map<string, number>()
  /** The claims whose attempts ask the database only when something else is known. */
  readonly #looks = new Set<{ readonly claimId: string; withdrawn: boolean }>()
  #inode: string | undefined
  #closed = false

  constructor(folder: StateFolder, machine: Machine) {
    this.#folder = folder
    this.#machine = machine
    this.#files = new LockFiles(folder, machine, (promotions, file) => this.#wake(promotions, file))
    this.#socket = new WakeupSocket(folder, {
      onMessage: (text) => this.#deliver(text),
      onDeath: (address) => void this.#deadHolders.takeOver(address),
    })
    this.#deadHolders = new DeadHolderCleanup(machine, this.#files, this.#socket, this.#interests)
    this.#cleanup = new FolderCleanup(folder, machine, this.#socket, async (dead) => {
      const address = await this.#files.findStation(dead.id)
      await this.#deadHolders.takeOver({
        ...dead,
        pidNamespace: address?.pidNamespace ?? dead.pidNamespace,
      })
    })
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const answer =
      this.#inode === undefined
        ? await this.#attemptAfter(this.#listen(claim.lock), claim, options)
        : await this.#attempt(claim, options)
    const { result, holders } = answer
    if (result.outcome === 'waiting') for (const holder of holders) this.#socket.watch(holder)
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
    if (this.#inode === undefined) await this.#listen(to.lock)
    let generation = 0
    const result = await file.transactions.do({
      claimId: from.id,
      work: (transaction) =>
        transaction.onLock(to.lock, (state, step, { stations }) => {
          generation = file.register(transaction, this.#address())
          const adopted = rule.adopt(state, adoption, step)
          if (adopted.outcome === 'granted') stations.set(to.id, detached ? '' : this.#socket.id)
          return adopted
        }),
    })
    if (file.confirmRegistration(generation)) await this.#moveIn(file)
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

  inspect(query: InspectQuery): Promise<InspectPage> {
    if ('lock' in query) return this.#files.inspectLock(query.lock)
    const { prefix, cursor = '', limit } = query
    return this.#files.inspectPage(prefix, cursor, limit)
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
    this.#watchers.clear()
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
        transaction.onLock(claim.lock, (state, step, { stations }) => {
          generation = file.register(transaction, this.#address())
          stations.set(claim.id, this.#socket.id)
          const result = rule.attempt(state, claim, options, step)
          if (result.outcome === 'granted') return { result, holders: [] }
          const ids = new Set(Array.from(state.holders.keys(), (id) => stations.get(id)))
          return { result, holders: addressesOf(transaction, ids, this.#socket.id) }
        }),
    })
    if (file.confirmRegistration(generation)) await this.#moveIn(file)
    return answer
  }

  /**
   * The folder for sockets is made by opening the database, which also says first what is wrong
   * with the folder.
   */
  async #listen(lock: string): Promise<undefined> {
    await this.#files.of(lock).transactions.ready()
    try {
      this.#inode = await this.#socket.listen()
      return undefined
    } catch (error) {
      throw explain(error, this.#folder, this.#folder.sockets)
    }
  }

  /**
   * Our row is in a file that was opened just now. A user who deleted the last one may have deleted
   * our socket, too.
   */
  async #moveIn(file: LockFile): Promise<void> {
    this.#cleanup.begin(file)
    try {
      const inode = await this.#socket.listen()
      if (inode === this.#inode) return
      this.#inode = inode
      await Promise.all(this.#files.all.map((each) => this.#registerAgain(each)))
    } catch {
      // Waiters have to wait for our leases to end. The next claim tries again.
      file.forgetRegistration()
    }
  }

  async #registerAgain(file: LockFile): Promise<void> {
    if (!file.isRegistered) return
    // Until the row is written, each claim writes it.
    file.forgetRegistration()
    const generation = await file.transactions.do({
      work: (transaction) => file.register(transaction, this.#address()),
    })
    file.confirmRegistration(generation)
  }

  #address(): SocketAddress {
    const { id, path } = this.#socket
    return { id, socket: path, inode: this.#inode ?? '', pidNamespace: this.#machine.pidNamespace }
  }

  /** Wakes new holders: those of this store at once, the others through their sockets. */
  #wake(promotions: readonly Promotion[], file: LockFile): void {
    for (const { holder, station } of promotions) {
      const { id, token, tokens, ttlMs } = holder
      if (station === this.#socket.id)
        this.#watchers.get(id)?.({ token: BigInt(token), tokens, ttlMs })
      else void this.#send(station, JSON.stringify([id, String(token), tokens, ttlMs]), file)
    }
  }

  /** A message that gets lost costs its receiver a heartbeat. */
  async #send(station: string, text: string, file: LockFile): Promise<void> {
    if (this.#socket.sendTo(station, text)) return
    const address = await this.#files.findStation(station, file)
    if (address && !this.#closed) this.#socket.send(address, text)
  }

  #deliver(text: string): void {
    const grant = parseGrant(text)
    if (!grant) return
    // Where other users can write to our socket a message is only a hint: the database says whether
    // it is true.
    this.#watchers.get(grant.id)?.(this.#folder.shared ? undefined : grant)
  }
}

/**
 * Returns undefined for any other text: each user who may open the folder can write to a socket.
 */
function parseGrant(text: string): (PushedGrant & { readonly id: string }) | undefined {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(message)) return undefined
  const [id, token, tokens, ttlMs] = message as readonly unknown[]
  if (typeof id !== 'string' || typeof token !== 'string' || !/^\d{1,16}$/.test(token))
    return undefined
  if (!Number.isSafeInteger(tokens) || typeof ttlMs !== 'number' || !(ttlMs > 0)) return undefined
  return { id, token: BigInt(token), tokens: tokens as number, ttlMs }
}
