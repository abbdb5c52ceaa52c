/**
 * Blocks a claim whose create request has an unknown outcome.
 *
 * A mark is written among the entries of the lock: each client that enters reads it with the queue.
 * The writer of the mark sees an entry that was made before it. An even later one comes from a
 * request that was in flight on a connection that broke. The client looks for it when the session
 * is on another connection: from then on ZooKeeper takes nothing from the old one.
 */
import type { Clock } from '../../../clock/clock.js'
import type { ClaimRef } from '../../../store/contract.js'
import { decodeEntry, type EntryData } from '../../coordination/wire.js'
import { CODES, hasCode } from '../errors.js'
import { findEntry } from './read-entry.js'
import { goneName, parentOf } from '../keys.js'
import type { ZooKeeperSession } from '../session/session.js'
import { ONLOOKER_MS } from '../session/sessions.js'
import { inLock, readNode, removeNode, removeNowOrLater } from './tree.js'
import { create, FLAGS } from '../wire/messages.js'

export class ClaimBlocker {
  readonly #restricted: boolean
  readonly #clock: Clock
  /**
   * Claims that were withdrawn, for as long as a request of theirs may still arrive. No
   * `ClaimsInDoubt`, which answers yes for all when it is full: each entry found here is removed.
   */
  readonly #blocked = new Set<string>()

  constructor(restricted: boolean, clock: Clock) {
    this.#restricted = restricted
    this.#clock = clock
  }

  /** Refuses a claim from now on, on any session. The data of its entry where there was one. */
  async block(
    any: () => Promise<ZooKeeperSession>,
    claim: ClaimRef,
  ): Promise<EntryData | undefined> {
    this.#blocked.add(claim.id)
    const { lock, id, ttlMs } = claim
    this.#clock.timer(ttlMs + ONLOOKER_MS, () => this.#blocked.delete(id), true)
    const session = await any()
    const path = `${parentOf(lock)}/${goneName(id)}`
    await inLock(session, lock, this.#restricted, async () => {
      try {
        await session.ask(create(path, '', FLAGS.ephemeral, this.#restricted))
      } catch (error) {
        if (!hasCode(error, CODES.nodeExists)) throw error
      }
    })
    const forget = (): void => void removeNowOrLater(session, path).catch(() => undefined)
    this.#clock.timer(ttlMs + ONLOOKER_MS, forget, true)
    return takeOut(session, claim)
  }

  /**
   * An attempt on this session was cut off: should its claim be given up, it leaves nothing behind.
   */
  followUp(session: ZooKeeperSession, claim: ClaimRef): void {
    session.doLater(claim.id, async () => {
      if (this.#blocked.has(claim.id)) await takeOut(session, claim)
    })
  }
}

async function takeOut(session: ZooKeeperSession, claim: ClaimRef): Promise<EntryData | undefined> {
  const found = await findEntry(session, claim)
  if (found === undefined) return undefined
  const node = await readNode(session, found)
  // Another client may have taken it out meanwhile: only that one counts it.
  const removed = await removeNode(session, found)
  return removed && node ? decodeEntry(node.text) : undefined
}
