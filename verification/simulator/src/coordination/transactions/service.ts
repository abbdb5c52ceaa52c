/** A client of a service like etcd: each step of the queue recipe is one transaction. */
import {
  momentOf,
  type CoordinationService,
  type EnterResult,
  type EnterSessions,
  type Entry,
  type EntryData,
  type EntryQuery,
  type EntryReading,
  type Exactness,
  type ListedEntry,
  type Moment,
  type QueuePosition,
  type ListedQueue,
  type ServiceWatch,
  type Waits,
  type Watched,
} from 'holdfast/internal'
import type { Claim, ClaimRef, ListQuery, NamesPage } from 'holdfast/store'
import type { Dice } from '@holdfast/workload'
import type { Recipe } from '../../runtime.js'
import { EntryKeys, lockOf } from '../entry-keys.js'
import type { StoredEntry } from '../queues.js'
import { Requests, type RequestOptions } from './requests.js'
import type { CoordinationServer } from '../server.js'
import { TransactionSession } from './session.js'
import { Transactions, type MadeEntry } from './transactions.js'
import { unavailable } from '../unavailable.js'
import { WatchStream } from './watch-stream.js'

/** A lost request is assumed to arrive within this time, in milliseconds. */
const LATE_MS = 60_000
/** How often a claim looks for a key that no other claim's entry has. */
const TRIES = 10

export class TransactionService implements CoordinationService<TransactionSession> {
  readonly graceMs = 0
  readonly adopts = true
  readonly keepsOrder = false
  readonly #given: RequestOptions
  readonly #server: CoordinationServer
  readonly #requests: Requests
  readonly #transactions: Transactions
  readonly #watches: WatchStream
  readonly #keys: EntryKeys
  readonly #dice: Dice
  /** Claims whose entry a lost request may make once more. */
  readonly #inDoubt: InstanceType<Recipe['ClaimsInDoubt']>

  constructor(given: RequestOptions, recipe: Recipe) {
    const { server, process, link, dice } = given
    this.#given = given
    this.#server = server
    this.#dice = dice
    this.#requests = new Requests(given)
    this.#transactions = new Transactions(server, recipe)
    this.#watches = new WatchStream(server, process, link, dice)
    this.#keys = new EntryKeys(() => dice.id())
    this.#inDoubt = new recipe.ClaimsInDoubt(process)
  }

  get inDoubt(): number {
    return this.#requests.inDoubt
  }

  async openSession(timeoutMs: number, _exactness: Exactness): Promise<TransactionSession> {
    const openedAt: Moment = momentOf(this.#given.process)
    const opened = await this.#requests.ask(() => this.#server.sessions.open(timeoutMs))
    return new TransactionSession(
      opened,
      openedAt,
      this.#server,
      this.#requests,
      this.#given.process,
    )
  }

  async enter(
    claim: Claim,
    data: EntryData,
    sessions: EnterSessions<TransactionSession>,
  ): Promise<EnterResult> {
    const before = this.inDoubt
    let result: EnterResult
    try {
      result = await this.#enter(claim, data, sessions)
    } finally {
      if (this.inDoubt !== before) {
        this.#keys.abandon()
        this.#inDoubt.add(nameOf(claim), LATE_MS)
      }
    }
    if (result.outcome !== 'entered') await this.#leaveOut(claim, result)
    return result
  }

  async readEntries(entries: readonly EntryQuery[]): Promise<readonly (EntryReading | Waits)[]> {
    const isBrief = this.#dice.chance(0.5)
    const readings = await this.#requests.ask(() =>
      entries.map((at) => this.#transactions.read(at, isBrief)),
    )
    for (const [index, { state }] of readings.entries())
      if (state === 'absent') this.#forget((entries[index] as EntryQuery).entry)
    return readings
  }

  async amend(
    entry: Entry,
    data: EntryData,
    version: bigint,
    session?: TransactionSession,
  ): Promise<bigint | undefined> {
    const sessionId = session?.id
    const answer = await this.#requests.ask(() =>
      this.#transactions.amend(entry, data, version, sessionId),
    )
    if (answer === 'no-session') throw unavailable('etcd-queue', 'the session is gone')
    return answer
  }

  async leave(entry: Entry): Promise<boolean> {
    const isInDoubt = this.#inDoubt.has(nameOf(entry))
    // Not repeated: a second one would find nothing, and leave open which one removed it.
    const left = await this.#requests.ask(() => this.#transactions.leave(entry, isInDoubt), false)
    this.#forget(entry)
    return left
  }

  async block(claim: ClaimRef): Promise<Pick<EntryData, 'detached'> | undefined> {
    const taken = await this.#requests.ask(() => this.#transactions.block(claim))
    this.#forget(claim)
    return taken
  }

  evict({ entry }: ListedEntry, reason: string | undefined, isOnly: boolean): Promise<boolean> {
    return this.#requests.ask(() => this.#transactions.evict(entry, reason ?? '', isOnly))
  }

  stealReasonOf(claim: Pick<ClaimRef, 'lock' | 'id'>): Promise<string | undefined> {
    return this.#requests.ask(() => this.#transactions.stealReasonOf(claim))
  }

  async noteAdopted(claim: ClaimRef): Promise<void> {
    if (this.#inDoubt.has(nameOf(claim))) await this.block(claim)
    this.#forget(claim)
  }

  async endDetached({ sessionId }: ListedEntry, { id }: TransactionSession): Promise<void> {
    if (sessionId === undefined || sessionId === id) return
    await this.#requests.ask(() => this.#server.sessions.end(sessionId))
  }

  watch({ predecessors, moment, onlyGone }: Watched, changed: () => void): ServiceWatch {
    const removers = predecessors.map(({ key }) =>
      this.#watches.add({ lock: lockOf(key), key, moment, onlyGone, changed }),
    )
    return {
      close: () => {
        for (const remove of removers) remove()
      },
    }
  }

  async listNames({ prefix }: ListQuery): Promise<NamesPage> {
    const names = await this.#requests.ask(() => this.#transactions.namesWith(prefix))
    return { names, cursor: undefined }
  }

  readQueues(locks: readonly string[]): Promise<readonly ListedQueue[]> {
    return this.#requests.ask(() => this.#transactions.readQueues(locks))
  }

  close(): Promise<void> {
    this.#requests.close()
    return Promise.resolve()
  }

  reset(): void {
    this.#requests.reset()
    this.#watches.reset()
  }

  async #enter(
    claim: Claim,
    data: EntryData,
    { holder, waiter }: EnterSessions<TransactionSession>,
  ): Promise<EnterResult> {
    const { lock, id } = claim
    const [holderId, waiterId] = [holder.id, waiter?.id]
    const mayFit = claim.kind === 'semaphore' && claim.weight === 1 && this.#dice.chance(0.7)
    const joins = waiter !== undefined && this.#dice.chance(0.2)
    let key = this.#keys.take(lock, id)
    for (let tries = 0; tries < TRIES; tries += 1) {
      const planned = { claim, data, key, holderId, waiterId, mayFit, joins }
      const answer = await this.#requests.ask(() => this.#transactions.enter(planned))
      if (answer.outcome === 'made') return this.#entered(claim, answer, waiter, joins)
      if (answer.outcome === 'mismatch') {
        const { kind, capacity } = answer.data
        return { outcome: 'mismatch', kind, capacity }
      }
      if (answer.outcome !== 'occupied') return { outcome: answer.outcome }
      key = this.#keys.exchange(lock, id)
    }
    throw unavailable('etcd-queue', 'all keys are occupied')
  }

  #entered(
    claim: Claim,
    { entry, onWaiterSession, before, weight, moment }: MadeEntry,
    waiter: TransactionSession | undefined,
    joins: boolean,
  ): EnterResult {
    const fits = weight + claim.weight <= claim.capacity
    return {
      outcome: 'entered',
      entry: portEntry(entry),
      version: entry.version,
      onWaiterSession,
      before,
      weight,
      moment,
      ...(joins && !fits && { later: this.#readLater(entry, claim) }),
      ...(!fits && !waiter && { mustLeave: true }),
    }
  }

  #readLater(entry: StoredEntry, claim: Claim): Promise<QueuePosition | undefined> {
    const later = this.#requests.ask(() => this.#transactions.before(entry, claim))
    // A claim that gives up before it is watched does not ask how the read ended.
    later.catch(() => undefined)
    return later
  }

  /** What was not entered must not be made later on, by a request that was not answered. */
  async #leaveOut(claim: Claim, { outcome }: EnterResult): Promise<void> {
    const isInDoubt = this.#inDoubt.has(nameOf(claim))
    // Without a session it comes again, and finds under the same key what was made.
    if (isInDoubt && outcome === 'no-session') return
    if (isInDoubt && outcome !== 'withdrawn') await this.block(claim)
    else this.#forget(claim)
  }

  #forget({ lock, id }: Pick<ClaimRef, 'lock' | 'id'>): void {
    this.#inDoubt.delete(nameOf({ lock, id }))
    this.#keys.release(lock, id)
  }
}

function nameOf({ lock, id }: Pick<ClaimRef, 'lock' | 'id'>): string {
  return `${id} ${lock}`
}

function portEntry({ lock, id, key, number }: StoredEntry): Entry {
  return { lock, id, key, number }
}
