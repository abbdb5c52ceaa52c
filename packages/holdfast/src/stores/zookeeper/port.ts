/**
 * The queue recipe's port to ZooKeeper.
 *
 * Requests of one session are answered in their order, and a session sees all that was written before its own last write. So
 * an entry and the list of its queue travel together, and whatever stands before the entry is in the list.
 */
import type { Claim, ClaimRef, InspectQuery } from '../../store/contract.js'
import { decodeEntry, encodeEntry, type EntryData } from '../sequenced/entry.js'
import type {
  EnterResult,
  EnterSessions,
  Entry,
  Look,
  LookedAt,
  Place,
  PortWatch,
  QueuesPage,
  SequencedPort,
  Watched,
} from '../sequenced/port.js'
import { mayGo } from '../sequenced/queue-rule.js'
import { EPHEMERAL, EPHEMERAL_SEQUENTIAL } from './client.js'
import { asLockError, CODES, hasCode, isSessionGone } from './failures.js'
import { areAlike, childPrefix, goneName, parentOf, parseChild, queueOf, type Child } from './nodes.js'
import type { ZooKeeperOptions } from './options.js'
import { ZooKeeperSession } from './session.js'
import { childrenOf, inLock, listQueues, readNode } from './tree.js'

/** The session of those who only look, steal or refuse. */
const ONLOOKER_MS = 10_000

interface OwnEntry extends Entry {
  readonly session: ZooKeeperSession
}

export class ZooKeeperPort implements SequencedPort<ZooKeeperSession> {
  readonly movable = false
  readonly graceMs: number
  readonly #options: ZooKeeperOptions
  readonly #sessions = new Set<ZooKeeperSession>()
  /** Claims whose entry may have been made by a request that was not answered. */
  readonly #unclear = new Set<string>()
  /** Claims that were given up, for as long as a request of theirs may still be on the way. */
  readonly #banished = new Set<string>()
  #onlooker: Promise<ZooKeeperSession> | undefined

  constructor(options: ZooKeeperOptions) {
    this.#options = options
    this.graceMs = options.tickMs ?? 2000
  }

  async openSession(timeoutMs: number): Promise<ZooKeeperSession> {
    const session = await ZooKeeperSession.open(this.#options, timeoutMs)
    for (const one of this.#sessions) if (one.lost) this.#sessions.delete(one)
    this.#sessions.add(session)
    return session
  }

  async enter(
    claim: Claim,
    data: EntryData,
    { holder, waiter }: EnterSessions<ZooKeeperSession>,
  ): Promise<EnterResult> {
    try {
      return await this.#typed(() => this.#enter(claim, data, holder, waiter !== undefined))
    } catch (error) {
      if (isSessionGone((error as Error).cause)) return { outcome: 'no-session' }
      // The answer was lost, and the entry may be there: the next attempt looks for it, a withdrawal takes it out.
      this.#unclear.add(claim.id)
      throw error
    }
  }

  async look(entries: readonly LookedAt[]): Promise<readonly Look[]> {
    return this.#typed(() => Promise.all(entries.map((entry) => this.#look(entry))))
  }

  async amend(entry: Entry, data: EntryData, version: bigint): Promise<bigint | undefined> {
    return this.#typed(async () => {
      const session = await this.#sessionOf(entry)
      try {
        const stat = await session.ask((client) => client.set(entry.key, encodeEntry(data), Number(version)))
        return BigInt(stat.version)
      } catch (error) {
        if (hasCode(error, CODES.badVersion, CODES.noNode)) return undefined
        throw error
      }
    })
  }

  async leave(entry: Entry): Promise<boolean> {
    const session = await this.#sessionOf(entry)
    const remove = async (): Promise<boolean> => removeNode(session, entry.key)
    try {
      return await remove()
    } catch (error) {
      if (isSessionGone(error)) return false
      session.owe(remove)
      throw asLockError(error, this.#options.connect)
    }
  }

  async banish(claim: ClaimRef): Promise<EntryData | undefined> {
    this.#banished.add(claim.id)
    const session = await this.#any()
    const banish = (): Promise<EntryData | undefined> => this.#banish(session, claim)
    try {
      return await banish()
    } catch (error) {
      for (const one of this.#sessions) one.owe(banish)
      throw asLockError(error, this.#options.connect)
    }
  }

  async evict(entry: Entry): Promise<boolean> {
    return this.#typed(async () => removeNode(await this.#any(), entry.key))
  }

  watch({ places }: Watched, changed: () => void): PortWatch {
    let open = true
    const once = (): void => {
      if (open) changed()
      open = false
    }
    // ZooKeeper's watches cannot be taken back; one that nobody waits for any more is silent.
    for (const { key } of places) {
      this.#any().then((session) => session.watch(key, once), once)
    }
    return { close: () => void (open = false) }
  }

  async list(query: InspectQuery): Promise<QueuesPage> {
    return this.#typed(async () => listQueues(await this.#any(), query))
  }

  /** The client cannot be closed without ending its sessions, so those of leases that are still held are closed later. */
  async close(heldMs: number): Promise<void> {
    const onlooker = await this.#onlooker?.catch(() => undefined)
    const endAll = async (): Promise<void> => {
      for (const session of [...this.#sessions, ...(onlooker ? [onlooker] : [])]) await session.end()
    }
    if (heldMs > 0) setTimeout(() => void endAll(), heldMs)
    else await endAll()
  }

  async #enter(
    claim: Claim,
    data: EntryData,
    session: ZooKeeperSession,
    enqueue: boolean,
  ): Promise<EnterResult> {
    const parent = parentOf(claim.lock)
    const found = this.#unclear.has(claim.id) ? await this.#find(session, claim) : undefined
    this.#unclear.delete(claim.id)
    const [key, { children, stat }] = await inLock(
      session,
      claim.lock,
      this.#options.auth !== undefined,
      () => Promise.all([found ?? this.#create(session, claim, data), childrenOf(session, parent)]),
    )
    const queue = queueOf(children)
    const own = queue.findIndex(({ name }) => key.endsWith(`/${name}`))
    const all = queue.slice(0, Math.max(0, own))
    const refusal = await this.#refusal(session, claim, children, all)
    const before = await this.#standing(session, claim, all)
    const busy = !enqueue && !mayGo(claim, before)
    if (refusal || busy || own < 0) {
      await this.#takeBack(session, key)
      return refusal ?? (busy ? { outcome: 'busy' } : { outcome: 'withdrawn' })
    }
    // Alone in its node it was the last that changed there, so the node knows its number.
    const number =
      children.length === 1 && stat
        ? stat.pzxid
        : (await session.ask((client) => client.exists(key, false))).czxid
    const entry: OwnEntry = { lock: claim.lock, id: claim.id, key, number: BigInt(number), session }
    return { outcome: 'entered', entry, version: 0n, before, moment: 0n, onWaiterSession: false }
  }

  #create(session: ZooKeeperSession, claim: Claim, data: EntryData): Promise<string> {
    const late = (path: string): void => {
      // Whoever asks again finds it. Nobody will when the claim was given up before ZooKeeper had it.
      if (this.#banished.has(claim.id)) void this.#takeBack(session, path).catch(() => undefined)
    }
    const text = encodeEntry(data)
    return session.ask((client) => client.create(childPrefix(claim), text, EPHEMERAL_SEQUENTIAL), late)
  }

  /** Why a claim cannot stay: somebody withdrew it, or the lock has another shape. */
  async #refusal(
    session: ZooKeeperSession,
    claim: Claim,
    children: readonly string[],
    before: readonly Child[],
  ): Promise<EnterResult | undefined> {
    if (children.includes(goneName(claim.id))) return { outcome: 'withdrawn' }
    const shape =
      parseChild(`${childPrefix(claim).slice(parentOf(claim.lock).length + 1)}0000000000`)?.shape ?? ''
    const other = before.find((one) => !areAlike(one.shape, shape))
    if (!other) return undefined
    const node = await readNode(session, `${parentOf(claim.lock)}/${other.name}`)
    const data = node && decodeEntry(node.text)
    // It has left just now: whoever is told so may ask again.
    if (!data)
      return {
        outcome: 'mismatch',
        kind: 'semaphore',
        capacity: Number(other.shape.slice(1)) || claim.capacity,
      }
    return { outcome: 'mismatch', kind: data.kind, capacity: data.capacity }
  }

  async #takeBack(session: ZooKeeperSession, key: string): Promise<void> {
    try {
      await removeNode(session, key)
    } catch (error) {
      session.owe(() => removeNode(session, key))
      throw error
    }
  }

  async #find(session: ZooKeeperSession, claim: Pick<Claim, 'lock' | 'id'>): Promise<string | undefined> {
    await session.ask((client) => client.sync('/'))
    const parent = parentOf(claim.lock)
    const { children } = await childrenOf(session, parent)
    const own = queueOf(children).find(({ id }) => id === claim.id)
    return own && `${parent}/${own.name}`
  }

  async #look({ entry, claim }: LookedAt): Promise<Look> {
    const session = await this.#sessionOf(entry)
    const parent = parentOf(entry.lock)
    const [node, { children }] = await Promise.all([
      readNode(session, entry.key),
      childrenOf(session, parent),
    ])
    const data = node && decodeEntry(node.text)
    // A node of an earlier session may still be there for a moment, and goes with that session.
    const isOurs = node && (!isOwn(entry) || node.stat.ephemeralOwner === session.id)
    if (!data || !isOurs) return { state: 'absent' }
    const queue = queueOf(children)
    const own = queue.findIndex(({ name }) => entry.key.endsWith(`/${name}`))
    const before = await this.#standing(
      session,
      { ...claim, lock: entry.lock },
      queue.slice(0, Math.max(0, own)),
    )
    return { state: 'present', data, version: BigInt(node.stat.version), before, moment: 0n }
  }

  /** What of those before a claim decides. A writer that was downgraded says so in its data. */
  async #standing(
    session: ZooKeeperSession,
    claim: Pick<Claim, 'lock' | 'capacity' | 'weight' | 'kind'>,
    before: readonly Child[],
  ): Promise<readonly Place[]> {
    const parent = parentOf(claim.lock)
    const places = before.map((child) => ({
      key: `${parent}/${child.name}`,
      weight: child.weight,
      shape: child.shape,
    }))
    if (claim.kind === 'semaphore') return places
    if (claim.weight >= claim.capacity) return places.slice(-1)
    const writers = places.filter(({ shape }) => shape === 'w')
    const now = await Promise.all(
      writers.map(async (writer) => {
        const node = await readNode(session, writer.key)
        return node ? [{ ...writer, weight: decodeEntry(node.text)?.weight ?? writer.weight }] : []
      }),
    )
    return now.flat()
  }

  async #banish(session: ZooKeeperSession, claim: ClaimRef): Promise<EntryData | undefined> {
    const path = `${parentOf(claim.lock)}/${goneName(claim.id)}`
    await inLock(session, claim.lock, this.#options.auth !== undefined, async () => {
      try {
        await session.ask((client) => client.create(path, '', EPHEMERAL))
      } catch (error) {
        if (!hasCode(error, CODES.nodeExists)) throw error
      }
    })
    const forget = (): void => {
      this.#banished.delete(claim.id)
      void removeNode(session, path).catch(() => undefined)
    }
    setTimeout(forget, claim.ttlMs + ONLOOKER_MS).unref()
    // Whoever enters from now on reads the word; whoever entered before is seen here.
    const found = await this.#find(session, claim)
    if (found === undefined) return undefined
    const node = await readNode(session, found)
    await removeNode(session, found)
    return node && decodeEntry(node.text)
  }

  async #sessionOf(entry: Entry): Promise<ZooKeeperSession> {
    return isOwn(entry) ? entry.session : this.#any()
  }

  async #any(): Promise<ZooKeeperSession> {
    for (const session of this.#sessions) if (session.connected) return session
    const present = await this.#onlooker?.catch(() => undefined)
    if (present?.connected === true) return present
    await present?.end()
    this.#onlooker = ZooKeeperSession.open(this.#options, ONLOOKER_MS)
    return this.#onlooker
  }

  async #typed<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      throw asLockError(error, this.#options.connect)
    }
  }
}

function isOwn(entry: Entry): entry is OwnEntry {
  return 'session' in entry
}

async function removeNode(session: ZooKeeperSession, path: string): Promise<boolean> {
  try {
    // oxlint-disable-next-line no-underscore-dangle -- so it is called
    await session.ask((client) => client.delete_(path, -1))
    return true
  } catch (error) {
    if (hasCode(error, CODES.noNode)) return false
    throw error
  }
}
