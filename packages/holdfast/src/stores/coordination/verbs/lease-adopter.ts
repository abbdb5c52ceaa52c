/**
 * Adoptions: the entry of a lease gets the id of another claim, and the session on which that claim
 * stands. It keeps its key and its number, so no waiter behind it is overtaken.
 *
 * An adopter gets the next token of the entry's own block. The revision of the change would exceed
 * the tokens of claims that wait behind it. The entry notes which token of its block it has.
 *
 * A detached entry stands on a session of its own, which this client does not keep alive. Any
 * client finds it in the queue by its id. When the outcome of a change is unknown, the session
 * stays. The entry may stand on it already, and the old holder still relies on the entry.
 */
import { StoreUnavailableError, UnsupportedLockError } from '../../../errors.js'
import type {
  Adoption,
  AdoptResult,
  Claim,
  LostRenewal,
  Renewal,
  RenewResult,
} from '../../../store/contract.js'
import { stolenLoss } from '../../../store/stolen.js'
import { split } from './administration.js'
import { QueueEntry, type ClaimRecord } from '../queue/claim-records.js'
import type { StoreContext } from '../queue/context.js'
import { firstTokenOf, LARGEST_BLOCK, tokenOf, type EntryData } from '../wire.js'
import type { ListedEntry, ServiceSession } from '../connection/service.js'

const EXPIRED: LostRenewal = { outcome: 'lost', reason: 'expired' }
/** The entry may change under an adoption: once by a steal, and hardly ever again. */
const TRIES = 3
/** The session of a detached entry lives this much longer than its lease. */
const SPARE_MS = 1000

/** Before its first export an entry does not say which token of its block the lease has. */
function hasToken(entryNumber: bigint, data: EntryData, token: bigint): boolean {
  const first = firstTokenOf(entryNumber, data)
  if (data.tokenOffset !== undefined) return token === first
  return first <= token && token < first + BigInt(LARGEST_BLOCK)
}

/** An entry after its change. */
interface Changed {
  readonly holder: ListedEntry
  readonly data: EntryData
  readonly version: bigint
}

export class LeaseAdopter<S extends ServiceSession> {
  readonly #context: StoreContext<S>

  constructor(context: StoreContext<S>) {
    this.#context = context
  }

  async adopt(adoption: Adoption): Promise<AdoptResult> {
    const { from, to, detached } = adoption
    const { records } = this.#context
    const known = records.get(to)
    if (known?.withdrawn) return EXPIRED
    const result = await (detached ? this.#detach(adoption) : this.#takeOver(adoption))
    const exported = records.get(from)
    // This client refuses the old claim from now on. A client that never knew it need not.
    if (result.outcome === 'granted' && exported) {
      records.noteGone(exported, 'absent')
      await this.#context.service.noteAdopted?.(from)
    }
    return result
  }

  /**
   * Renews a detached entry, which no client holds: it gets another session, unless it keeps its
   * end. Any other entry only shows another owner.
   */
  async renewDetached({ lock, id, ttlMs, owner, keepsEnd }: Renewal): Promise<RenewResult> {
    const session = keepsEnd === true ? undefined : await this.#openDetached(ttlMs)
    const isIt = ({ entry, data }: ListedEntry): boolean =>
      entry.id === id && (data.detached === true || keepsEnd === true)
    const show = ({ data }: ListedEntry): EntryData => ({
      ...data,
      owner,
      ...(session && { ttlMs }),
    })
    const changed =
      (await this.#change(lock, id, isIt, show, session)) ?? (await this.#lossOf({ lock, id }))
    if (!('outcome' in changed)) return { outcome: 'renewed' }
    void session?.end().catch(() => undefined)
    return changed
  }

  async #detach(adoption: Adoption): Promise<AdoptResult> {
    const { to } = adoption
    const session = await this.#openDetached(to.ttlMs)
    const changed = await this.#pass(adoption, session)
    if (!('outcome' in changed)) return this.#granted(adoption, changed, to.ttlMs)
    void session.end().catch(() => undefined)
    return changed
  }

  async #takeOver(adoption: Adoption): Promise<AdoptResult> {
    const { to } = adoption
    const { records, sessions, clock } = this.#context
    const known = records.get(to)
    const record = known ?? records.make(to, true)
    const startMs = clock.monotonicMs()
    const session = await sessions.ready(to.ttlMs)
    if (!(await session.assure(to.ttlMs))) throw this.#changedMeanwhile(to.lock)
    const changed = await this.#pass(adoption, session.handle)
    if ('outcome' in changed) {
      // A request whose answer was lost may have passed the entry to this claim before the steal.
      if (known || changed.reason === 'stolen') await this.#refuse(record, to)
      else records.drop(record)
      return changed
    }
    // The withdrawal takes the entry out, in any order of arrival.
    if (record.withdrawn) return EXPIRED
    const { holder, data, version } = changed
    const entry = { ...holder.entry, id: to.id }
    const position = { before: [], weight: 0, moment: 0n }
    const queueEntry = new QueueEntry(to, entry, session, data, position)
    queueEntry.version = version
    queueEntry.hold(startMs, to.ttlMs, clock.monotonicMs())
    const token = firstTokenOf(entry.number, data)
    queueEntry.grant = { token, tokens: 1, ttlMs: to.ttlMs }
    record.inDoubt = false
    record.queueEntry = queueEntry
    return this.#granted(adoption, changed, queueEntry.endMs - clock.monotonicMs())
  }

  /** Takes out what the claim may have, now or as soon as the service answers. */
  async #refuse(record: ClaimRecord<S>, to: Claim): Promise<void> {
    this.#context.records.markWithdrawn(record)
    await this.#context.removing.block(record, to).catch(() => undefined)
  }

  async #pass(adoption: Adoption, session: S): Promise<Changed | LostRenewal> {
    const { from, to, token, detached } = adoption
    // A repeated request finds what the first one made.
    const isIt = ({ entry, data }: ListedEntry): boolean =>
      entry.id === to.id || (entry.id === from.id && hasToken(entry.number, data, token))
    const show = ({ entry, data }: ListedEntry): EntryData => ({
      ...data,
      owner: to.owner,
      ttlMs: to.ttlMs,
      detached: detached ? true : undefined,
      tokens: undefined,
      tokenOffset: entry.id === to.id ? data.tokenOffset : this.#offsetFor(adoption, entry.number),
    })
    return (await this.#change(to.lock, to.id, isIt, show, session)) ?? this.#lossOf(from)
  }

  /** Returns the loss of a claim whose entry is gone. */
  async #lossOf(claim: Pick<Claim, 'lock' | 'id'>): Promise<LostRenewal> {
    const stealReason = await this.#context.service.stealReasonOf?.(claim)
    return stealReason === undefined ? EXPIRED : stolenLoss(stealReason)
  }

  /**
   * Changes the entry of a holder: its id, its data and its session if given, in one step. Resolves
   * to undefined when it is gone.
   */
  async #change(
    lock: string,
    id: string,
    isIt: (listed: ListedEntry) => boolean,
    show: (listed: ListedEntry) => EntryData,
    session: S | undefined,
  ): Promise<Changed | LostRenewal | undefined> {
    const { service, records } = this.#context
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (records.get({ lock, id })?.withdrawn === true) return EXPIRED
      const [queue] = await service.readQueues([lock], [])
      const holder = split(queue).holders.find(isIt)
      if (!holder) return undefined
      if (holder.data.stolen === true) return stolenLoss(holder.data.stealReason)
      const data = show(holder)
      const version = await service.amend({ ...holder.entry, id }, data, holder.version, session)
      if (version === undefined) continue
      // The session was the entry's alone. It ends by itself as well.
      if (session && holder.data.detached === true)
        service.endDetached?.(holder, session).catch(() => undefined)
      return { holder, data, version }
    }
    throw this.#changedMeanwhile(lock)
  }

  /**
   * Returns which token of the entry's block it is, counted from 0.
   * @throws UnsupportedLockError when the block has no larger token.
   */
  #offsetFor({ token, detached, to }: Adoption, entryNumber: bigint): number {
    const offset = Number(token - tokenOf(entryNumber)) + (detached ? 0 : 1)
    if (offset < LARGEST_BLOCK) return offset
    const { name } = this.#context
    throw new UnsupportedLockError(
      `The ${name} store has no larger token for another adoption of the lease on "${to.lock}": all ${LARGEST_BLOCK} are used. ` +
        'Release the lease, and acquire the lock again.',
      { lock: to.lock, store: name },
    )
  }

  #granted({ to }: Adoption, { holder, data }: Changed, remainingMs: number): AdoptResult {
    const alreadyGranted = holder.entry.id === to.id
    const token = firstTokenOf(holder.entry.number, data)
    return { outcome: 'granted', alreadyGranted, token, tokens: 1, ttlMs: to.ttlMs, remainingMs }
  }

  #openDetached(ttlMs: Claim['ttlMs']): Promise<S> {
    const timeoutMs = Math.ceil(ttlMs / 1000) * 1000 + SPARE_MS
    return this.#context.service.openSession(timeoutMs, 'or longer')
  }

  #changedMeanwhile(lock: string): StoreUnavailableError {
    return new StoreUnavailableError(
      `The entry of "${lock}" or its session with ${this.#context.name} changed during the adoption. Try again.`,
      { lock, store: this.#context.name },
    )
  }
}
