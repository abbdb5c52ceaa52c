/**
 * Removals of entries, by their own claim, by another client, or by an operator.
 *
 * An entry that was exported is another claim's after an adoption, with the same key and number. So
 * each removal compares the revision of what it saw, and looks again when that differs.
 */
import { StoreUnavailableError } from '../../../errors.js'
import { ClaimsInDoubt } from '../../../in-doubt/claims-in-doubt.js'
import type { ClaimRef } from '../../../store/contract.js'
import type { EntryData } from '../../coordination/wire.js'
import type { Entry, ListedEntry } from '../../coordination/connection/service.js'
import type { Batches } from '../connection/batches.js'
import type { EntryKeys } from './entry-keys.js'
import type { Keys } from '../keys.js'
import { revokeLease, TombstoneLeases } from '../session.js'
import { op, txn, when, type Txn, type TxnAnswer } from '../wire/messages.js'
import type { QuorumReads } from '../connection/quorum-reads.js'
import { decodeGone, decodeValue, encodeGone, type Gone } from '../wire/values.js'

/**
 * How long a note stays, in milliseconds. A steal leaves one for the holder. A removed claim
 * leaves one for its own late request.
 */
const WORD_MS = 60_000
/** A lost request is assumed to arrive within this number of TTLs. */
const LATE_TTLS = 3

/** An entry may change while it is being removed: each change is one of a few clients' verbs. */
const TRIES = 10

/** An entry as it was seen last. */
type Seen = Pick<ListedEntry, 'entry' | 'version'>

export class EntryRemovals {
  readonly #batches: Batches
  readonly #reads: QuorumReads
  readonly #keys: Keys
  readonly #entryKeys: EntryKeys
  readonly #tombstoneLeases: TombstoneLeases
  /** Claims whose entry a lost request may make once more, by the key of their tombstone. */
  readonly #inDoubt: ClaimsInDoubt

  constructor(batches: Batches, reads: QuorumReads, entryKeys: EntryKeys) {
    this.#inDoubt = new ClaimsInDoubt(reads.connection.clock)
    this.#batches = batches
    this.#reads = reads
    this.#keys = reads.connection.keys
    this.#entryKeys = entryKeys
    this.#tombstoneLeases = new TombstoneLeases(reads)
  }

  isInDoubt(claim: Pick<ClaimRef, 'lock' | 'id'>): boolean {
    return this.#inDoubt.has(this.#keys.goneKey(claim))
  }

  /** A request to make its entry was not answered, and may still arrive. */
  noteInDoubt(claim: ClaimRef): void {
    this.#inDoubt.add(this.#keys.goneKey(claim), Math.max(WORD_MS, LATE_TTLS * claim.ttlMs))
  }

  /** Its entry is gone for certain, and none will be made. */
  forget(claim: Pick<ClaimRef, 'lock' | 'id'>): void {
    this.#inDoubt.delete(this.#keys.goneKey(claim))
    this.#entryKeys.release(claim)
  }

  async leave(entry: Entry, version: bigint): Promise<boolean> {
    const removal = op.remove(entry.key)
    const word = this.#keys.goneKey(entry)
    if (!this.#inDoubt.has(word)) return this.#leave({ entry, version }, [removal])
    // A try to make it may still be in flight, and must not make it again.
    return this.#tombstoneLeases.under(WORD_MS, (lease) =>
      this.#leave({ entry, version }, [removal, op.put(word, encodeGone({}), lease)]),
    )
  }

  async #leave(seen: Seen, then: readonly Buffer[]): Promise<boolean> {
    // Not repeated here: a second one would find nothing, and leave open which one removed it.
    const left = await this.#takeOut(seen, false, ({ id }) =>
      id === seen.entry.id ? then : undefined,
    )
    this.forget(seen.entry)
    return left === 'removed'
  }

  block(claim: ClaimRef): Promise<Pick<EntryData, 'detached'> | undefined> {
    return this.#tombstoneLeases.under(claim.ttlMs, (lease) => this.#block(claim, lease))
  }

  async #block(claim: ClaimRef, lease: bigint): Promise<Pick<EntryData, 'detached'> | undefined> {
    const { key, end } = this.#keys.queueOf(claim.lock)
    const word = this.#keys.goneKey(claim)
    const then = [op.range(key, { end }), op.put(word, encodeGone({}), lease)]
    const otherwise = [op.range(key, { end })]
    const { succeeded, answers } = await this.#change(
      claim.lock,
      { when: [when.absent(word)], then, otherwise },
      true,
    )
    // From this moment on no entry of this claim can be made, so what is there now is all there is.
    this.#inDoubt.delete(word)
    for (const kv of answers[0]?.found ?? []) {
      // Those of others are not read: they may be of a format that is not known here.
      const decoded = kv.value.includes(claim.id) ? decodeValue(kv.value) : undefined
      if (decoded?.id !== claim.id) continue
      const { key: place, createRevision: number, modRevision: version } = kv
      const entry = { ...claim, key: place, number }
      const { detached } = decoded.data
      const noted = op.put(word, encodeGone({ taken: { detached } }), lease)
      const left = await this.#leave({ entry, version }, [op.remove(place), noted])
      if (left && detached === true)
        this.endDetached({ sessionId: kv.lease }).catch(() => undefined)
      // Another request of the same withdrawal may have been faster.
      return left ? { detached } : this.#takenBefore(claim, lease)
    }
    this.#entryKeys.release(claim)
    return succeeded ? undefined : this.#takenBefore(claim, lease)
  }

  /**
   * What an earlier request of the same withdrawal has taken out, whose answer may have been lost.
   * The word of it stays for as long as the lease lasts.
   */
  async #takenBefore(claim: ClaimRef, lease: bigint): Promise<Gone['taken']> {
    const word = this.#keys.goneKey(claim)
    const { answers } = await this.#change(claim.lock, { when: [], then: [op.range(word)] }, true)
    const known = answers[0]?.found[0]
    if (!known) return undefined
    const gone = decodeGone(known.value)
    const then = [op.put(word, encodeGone(gone), lease)]
    await this.#change(claim.lock, { when: [when.unchanged(word, known.modRevision)], then }, true)
    return gone.taken
  }

  async evict(listed: ListedEntry, reason: string | undefined, isOnly: boolean): Promise<boolean> {
    const { id } = listed.entry
    const removed = await this.#tombstoneLeases.under(WORD_MS, (lease) =>
      this.#takeOut(listed, true, (entry) =>
        isOnly && entry.id !== id
          ? undefined
          : [
              op.remove(entry.key),
              op.put(this.#keys.goneKey(entry), encodeGone({ stealReason: reason ?? '' }), lease),
            ],
      ),
    )
    // An earlier try of this request, whose answer was lost, may have stolen it.
    return removed === 'removed' || removed.stealReason !== undefined
  }

  /** Returns why a claim was evicted; undefined when it was not, or more than a minute ago. */
  async stealReasonOf(claim: Pick<ClaimRef, 'lock' | 'id'>): Promise<string | undefined> {
    const then = [op.range(this.#keys.goneKey(claim))]
    const { answers } = await this.#change(claim.lock, { when: [], then }, true)
    const word = answers[0]?.found[0]
    return word && decodeGone(word.value).stealReason
  }

  async endDetached({ sessionId }: Pick<ListedEntry, 'sessionId'>): Promise<void> {
    if (sessionId !== undefined) await revokeLease(this.#reads, sessionId)
  }

  /**
   * Removes an entry as it was read. If the entry has changed since, another claim may have adopted
   * it, so the entry is read again. `removal` returns the operations that remove it, or undefined
   * where it stays. Resolves to the reason where it was gone already.
   */
  async #takeOut(
    { entry, version }: Seen,
    repeatable: boolean,
    removal: (entry: Entry) => readonly Buffer[] | undefined,
  ): Promise<'removed' | Gone> {
    const { lock, key, number } = entry
    let seen = { id: entry.id, version }
    for (let tries = 0; tries < TRIES; tries += 1) {
      const then = removal({ ...entry, id: seen.id })
      if (!then) return {}
      const otherwise = [op.range(key), op.range(this.#keys.goneKey({ lock, id: seen.id }))]
      const { succeeded, answers } = await this.#change(
        lock,
        { when: [when.unchanged(key, seen.version)], then, otherwise },
        repeatable,
      )
      if (succeeded) return 'removed'
      const [now, word] = answers.map(({ found }) => found[0])
      const id = now?.createRevision === number ? decodeValue(now.value)?.id : undefined
      if (!now || id === undefined) return word ? decodeGone(word.value) : {}
      seen = { id, version: now.modRevision }
    }
    throw new StoreUnavailableError(
      `The entry of "${lock}" in etcd changed ${TRIES} times while it was being removed. Try again.`,
      { lock, store: 'etcd' },
    )
  }

  #change(lock: string, request: Txn, repeatable: boolean): Promise<TxnAnswer> {
    return this.#batches.run(lock, txn(request), repeatable)
  }
}
