/**
 * The embedded store: the grant rule inside SQLite transactions, wake-ups through unix sockets, and the death of a
 * holder noticed by the end of its connection.
 */
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  InspectPage,
  InspectQuery,
  LockInfo,
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
} from '../../store/contract.js'
import * as rule from '../../store/grant-rule.js'
import { Burials } from './burials.js'
import type { Place } from './directory.js'
import type { StationAddress } from './link.js'
import type { Machine } from './machine.js'
import { explain, type OpenedDatabase } from './schema.js'
import { Station } from './station.js'
import { Transactions, type Promotion, type Transaction } from './transactions.js'
import { Upkeep } from './upkeep.js'

const TRAITS: Traits<true> = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'machine',
  downgrade: true,
  steal: true,
  inspect: true,
  pollMs: [50, 250],
  ttlMs: [1, 366 * 24 * 3_600_000],
}

interface Answer {
  readonly result: AttemptResult
  /** The stations of those who hold the lock, without our own. */
  readonly holders: readonly StationAddress[]
}

export class EmbeddedStore implements Store<true> {
  readonly name = 'embedded'
  readonly traits = TRAITS
  readonly #place: Place
  readonly #machine: Machine
  readonly #transactions: Transactions
  readonly #station: Station
  readonly #burials: Burials
  readonly #upkeep: Upkeep
  readonly #watchers = new Map<string, WakeListener>()
  /** The locks that claims of ours wait for, and how many. */
  readonly #interests = new Map<string, number>()
  /** The claims whose attempts ask the database only when something else is known. */
  readonly #looks = new Set<{ readonly claimId: string; withdrawn: boolean }>()
  #inode: string | undefined
  #registered = 0
  #closed = false

  constructor(place: Place, machine: Machine) {
    this.#place = place
    this.#machine = machine
    this.#transactions = new Transactions(place, machine, (promotions) => this.#wake(promotions))
    this.#station = new Station(place, {
      onMessage: (text) => this.#deliver(text),
      onDeath: (address) => void this.#burials.takeOver(address),
    })
    this.#burials = new Burials(machine, this.#transactions, this.#station, this.#interests)
    this.#upkeep = new Upkeep(place, machine, this.#transactions, this.#station, async (dead) => {
      const address = await this.#lookUp(dead.id)
      await this.#burials.takeOver({ ...dead, pidNamespace: address?.pidNamespace ?? dead.pidNamespace })
    })
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const answer =
      this.#inode === undefined
        ? await this.#attemptAfter(this.#listen(), claim, options)
        : await this.#attempt(claim, options)
    const { result, holders } = answer
    if (result.outcome === 'waiting') for (const holder of holders) this.#station.watch(holder)
    if (result.outcome !== 'busy' || holders.length === 0) return result
    // Nobody will look again for this claim, so a dead holder is to be found now.
    const look = Promise.all(holders.map((holder) => this.#burials.endIfDead(claim.lock, holder)))
    const stands = look.then((ended) => (ended.includes(true) ? undefined : answer))
    return (await this.#attemptAfter(stands, claim, options)).result
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewResult[]> {
    return Promise.all(
      renewals.map((renewal) =>
        this.#transactions.do({
          claimId: renewal.id,
          work: (transaction) =>
            transaction.onLock(renewal.lock, (state, turn) => rule.renew(state, renewal, turn)),
        }),
      ),
    )
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    for (const running of this.#looks) if (running.claimId === claim.id) running.withdrawn = true
    return this.#transactions.do({
      claimId: claim.id,
      first: true,
      work: (transaction) =>
        transaction.onLock(claim.lock, (state, turn) => rule.withdraw(state, claim, turn)),
    })
  }

  downgrade(claim: ClaimRef): Promise<boolean> {
    return this.#transactions.do({
      claimId: claim.id,
      work: (transaction) =>
        transaction.onLock(claim.lock, (state, turn) => rule.downgrade(state, claim, turn)),
    })
  }

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.#transactions.do({
      work: (transaction) => transaction.onLock(lock, (state, turn) => rule.steal(state, options, turn)),
    })
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
    return this.#transactions.do({
      work: (transaction) =>
        'lock' in query
          ? { locks: this.#describe(transaction, [query.lock]), cursor: undefined }
          : this.#page(transaction, query),
    })
  }

  /** The engine, the versions and the journal: for `doctor`. */
  describeDatabase(): Promise<OpenedDatabase> {
    return this.#transactions.ready()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#burials.close()
    await this.#upkeep.close()
    if (this.#registered > 0) {
      const remove = (transaction: Transaction): unknown =>
        transaction.db.prepare('DELETE FROM stations WHERE id = ?').run(this.#station.id)
      // A row that stays behind is found dead by whoever meets it.
      await this.#transactions.do({ work: remove }).catch(() => undefined)
    }
    this.#transactions.close()
    this.#station.close()
    this.#watchers.clear()
  }

  /**
   * Attempts when a look is over, unless that brought an answer. A claim that was withdrawn meanwhile is not attempted any
   * more: its withdrawal was done before, and of those a lock remembers so few that nobody might be granted it.
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
    let generation = 0
    const answer = await this.#transactions.do({
      claimId: claim.id,
      work: (transaction) =>
        transaction.onLock(claim.lock, (state, turn, { stations }) => {
          generation = this.#register(transaction)
          stations.set(claim.id, this.#station.id)
          const result = rule.attempt(state, claim, options, turn)
          if (result.outcome === 'granted') return { result, holders: [] }
          const ids = new Set(Array.from(state.holders.keys(), (id) => stations.get(id)))
          return { result, holders: this.#addresses(transaction, ids) }
        }),
    })
    if (this.#registered !== generation) {
      this.#registered = generation
      await this.#moveIn()
    }
    return answer
  }

  /** The folder for sockets is made by opening the database, which also says first what is wrong with the place. */
  async #listen(): Promise<undefined> {
    await this.#transactions.ready()
    try {
      this.#inode = await this.#station.listen()
      return undefined
    } catch (error) {
      throw explain(error, this.#place)
    }
  }

  /** Our row is in a database that was opened just now. Whoever deleted the last one may have deleted our socket, too. */
  async #moveIn(): Promise<void> {
    this.#upkeep.begin()
    try {
      const inode = await this.#station.listen()
      if (inode === this.#inode) return
      this.#inode = inode
      // Until the row says so, each claim writes it.
      this.#registered = 0
      this.#registered = await this.#transactions.do({ work: (transaction) => this.#register(transaction) })
    } catch {
      // Whoever waits for us has to wait for our leases to end. The next claim tries again.
      this.#registered = 0
    }
  }

  /** Writes our row where it is missing. It counts as written only when the transaction was: that may be tried again. */
  #register(transaction: Transaction): number {
    const { generation } = this.#transactions
    if (this.#registered === generation) return generation
    transaction.db
      .prepare('INSERT OR REPLACE INTO stations (id, socket, inode, pid_namespace) VALUES (?, ?, ?, ?)')
      .run(this.#station.id, this.#station.path, this.#inode ?? '', this.#machine.pidNamespace)
    return generation
  }

  #addresses(transaction: Transaction, ids: ReadonlySet<string | undefined>): StationAddress[] {
    const found: StationAddress[] = []
    for (const id of ids) {
      if (id === undefined || id === this.#station.id) continue
      const rows = transaction.db
        .prepare('SELECT id, socket, inode, pid_namespace AS pidNamespace FROM stations WHERE id = ?')
        .all(id) as StationAddress[]
      found.push(...rows)
    }
    return found
  }

  /** Tells the new holders: our own at once, those of other processes through their sockets. */
  #wake(promotions: readonly Promotion[]): void {
    for (const { holder, station } of promotions) {
      const { id, token, tokens, ttlMs } = holder
      if (station === this.#station.id) this.#watchers.get(id)?.({ token: BigInt(token), tokens, ttlMs })
      else void this.#send(station, JSON.stringify([id, String(token), tokens, ttlMs]))
    }
  }

  async #send(station: string, text: string): Promise<void> {
    if (this.#station.tell(station, text)) return
    const address = await this.#lookUp(station)
    if (address && !this.#closed) this.#station.send(address, text)
  }

  async #lookUp(station: string): Promise<StationAddress | undefined> {
    try {
      const [address] = await this.#transactions.do({
        work: (transaction) => this.#addresses(transaction, new Set([station])),
      })
      return address
    } catch {
      // The receiver's heartbeat does it then.
      return undefined
    }
  }

  #deliver(text: string): void {
    const grant = parseGrant(text)
    if (!grant) return
    // Where other users can write to our socket a message is only a hint: the database says whether it is true.
    this.#watchers.get(grant.id)?.(this.#place.shared ? undefined : grant)
  }

  #page(
    transaction: Transaction,
    query: { prefix: string; cursor?: string | undefined; limit: number },
  ): InspectPage {
    const { prefix, cursor = '', limit } = query
    const names = transaction.db
      .prepare(
        'SELECT name FROM locks WHERE busy = 1 AND name >= ? AND name > ? AND substr(name, 1, length(?)) = ? ' +
          'ORDER BY name LIMIT ?',
      )
      .all(prefix, cursor, prefix, prefix, limit + 1) as { name: string }[]
    const page = names.slice(0, limit).map(({ name }) => name)
    return {
      locks: this.#describe(transaction, page),
      cursor: names.length > limit ? page.at(-1) : undefined,
    }
  }

  #describe(transaction: Transaction, names: readonly string[]): LockInfo[] {
    return names.flatMap(
      (name) => transaction.onLock(name, (state, turn) => rule.describe(name, state, turn)) ?? [],
    )
  }
}

/** Undefined for what is not one of our messages: anybody who may open the folder can write to a socket. */
function parseGrant(text: string): (PushedGrant & { readonly id: string }) | undefined {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(message)) return undefined
  const [id, token, tokens, ttlMs] = message as readonly unknown[]
  if (typeof id !== 'string' || typeof token !== 'string' || !/^\d{1,16}$/.test(token)) return undefined
  if (!Number.isSafeInteger(tokens) || typeof ttlMs !== 'number' || !(ttlMs > 0)) return undefined
  return { id, token: BigInt(token), tokens: tokens as number, ttlMs }
}
