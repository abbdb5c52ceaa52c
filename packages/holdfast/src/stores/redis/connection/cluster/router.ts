/**
 * Finds the member that owns a slot, and follows what members say when they do not own it, or not
 * any more.
 *
 * The connections are the store's own, one to each primary: then one member's failure is seen as
 * what it is, with each client library. Some of them keep commands for a dead primary until it
 * comes back, others give up.
 */
import type { Timer } from '../../../../clock/clock.js'
import { withTimeout } from '../../../../clock/with-timeout.js'
import { StoreUnavailableError } from '../../../../errors.js'
import { explain, STORE_NAME } from '../../errors.js'
import { closedError } from '../resilient-caller.js'
import type { Address, ClusterTransport } from '../transports/transport.js'
import { Member, Refusal, type MemberSettings, type Send } from './member.js'
import { nameOf, readAddress, Topology } from './topology.js'

/** After how long without an answer the client asks who owns the slot now. */
const SUSPECT_MS = 1000
const SWEEP_MS = 250
/** How long one member may take to say who owns what. */
const LOOK_MS = 1000
/** Between two looks at least. */
const REFRESH_EVERY_MS = 100
/** Redirections in a row that need no pause. */
const FOLLOWED_AT_ONCE = 3
const SHORTEST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 200

/**
 * What passes by itself, sooner or later: the member asks to come back, or is about to be replaced.
 */
const PASSING = new Set(['TRYAGAIN', 'CLUSTERDOWN', 'MASTERDOWN', 'LOADING', 'READONLY'])

interface RoutedCall {
  readonly startedMs: number
  /** What stood in its way last. */
  trouble?: Error
  reject(error: unknown): void
}

export class Router {
  readonly #transport: ClusterTransport
  readonly #settings: MemberSettings
  readonly #topology = new Topology()
  readonly #members = new Map<string, Member>()
  readonly #calls = new Set<RoutedCall>()
  #refreshing: Promise<void> | undefined
  #refreshedMs = -Infinity
  #refreshes = 0
  #sweep: Timer | undefined
  #closed = false
  #onReady: (() => void) | undefined
  /** Called when slots may have changed hands. */
  onChange: () => void = () => undefined

  constructor(transport: ClusterTransport, settings: MemberSettings) {
    this.#transport = transport
    this.#settings = {
      ...settings,
      onReady: () => this.#onReady?.(),
      // A member gave the slots to a client with this very login.
      hasAnswered: () => !this.#topology.isEmpty,
    }
  }

  /** Sends to the owner of a slot. Rejects with a typed error, at the latest after the timeout. */
  call(slot: number, send: Send): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call: RoutedCall = { startedMs: this.#settings.clock.monotonicMs(), reject }
      this.#calls.add(call)
      this.#sweep ??= this.#startSweep()
      this.#route(slot, send, call)
        .then(resolve, (error: unknown) => reject(explain(error)))
        .finally(() => this.#calls.delete(call))
    })
  }

  /** Calls when a member is connected again. Returns how to stop that. */
  whenReady(work: () => void): () => void {
    this.#onReady = work
    return () => (this.#onReady = undefined)
  }

  /** Every member that owns slots, in the order of their first ones. */
  async firstSlots(): Promise<{ readonly slot: number; readonly member: Member }[]> {
    if (this.#closed) throw closedError()
    if (this.#topology.isEmpty) await this.#refresh()
    return this.#topology
      .firstSlots()
      .map(({ slot, owner }) => ({ slot, member: this.#member(owner) }))
  }

  /**
   * Resolves to the member that owns a slot as far as is known. Rejects where none does: a later
   * call may find one.
   */
  async ownerOf(slot: number): Promise<Member> {
    const owner = await this.#findOwner(slot)
    if (owner) return owner
    // No member says of a slot without an owner that it has moved, so that nothing else would make
    // us look again.
    this.refreshSoon()
    throw explain(noOwner(slot))
  }

  /** Follows an error such as `MOVED 3999 127.0.0.1:6381`. False for any other. */
  learn(message: string, saidBy: Address): boolean {
    const [word, slot, text = ''] = message.split(' ')
    const owner = word === 'MOVED' ? readAddress(text, saidBy) : undefined
    if (!owner) return false
    this.#topology.learn(Number(slot), owner)
    this.onChange()
    // One slot that has moved is seldom alone.
    this.refreshSoon()
    return true
  }

  close(): void {
    this.#closed = true
    this.#sweep?.cancel()
    const error = closedError()
    for (const call of this.#calls) call.reject(error)
    // Those that wait for a look, or pause, are not to be sent any more.
    this.#calls.clear()
    for (const member of this.#members.values()) member.retire(error)
    this.#members.clear()
  }

  async #findOwner(slot: number): Promise<Member | undefined> {
    if (this.#closed) throw closedError()
    if (this.#topology.isEmpty) await this.#refresh()
    const owner = this.#topology.ownerOf(slot)
    return owner && this.#member(owner)
  }

  async #route(slot: number, send: Send, call: RoutedCall): Promise<unknown> {
    let asked: Member | undefined
    for (let tries = 0; ; tries += 1) {
      const member = asked ?? (await this.#findOwner(slot))
      // A caller that learned of a failure meanwhile may have withdrawn already: an attempt must
      // not come after that.
      this.#assertUnanswered(call)
      // Such as while the Cluster is being made, or when the one who was asked knew of a part of it
      // only.
      const answer = member
        ? await member.call(asked ? asking(send) : send)
        : new Refusal(explain(noOwner(slot)), 'CLUSTERDOWN')
      if (!(answer instanceof Refusal)) return answer
      // The caller has its answer already.
      this.#assertUnanswered(call)
      call.trouble = answer.error
      asked = member && this.#askedOf(answer, member)
      const moved = member !== undefined && this.learn(answer.error.message, member.address)
      const follows = asked !== undefined || moved
      if (!follows && answer.word !== '' && !PASSING.has(answer.word)) throw answer.error
      if (follows && tries < FOLLOWED_AT_ONCE) continue
      // A key whose slot is just being moved says TRYAGAIN: then each member is the right one.
      if (answer.word !== 'TRYAGAIN') this.refreshSoon()
      await this.#pauseAfter(tries)
    }
  }

  /** @throws StoreUnavailableError for a call that a close or its timeout has answered */
  #assertUnanswered(call: RoutedCall): void {
    if (!this.#calls.has(call)) throw closedError()
  }

  #pauseAfter(tries: number): Promise<void> {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** tries)
    return new Promise((resolve) => void this.#settings.clock.timer(pauseMs, resolve))
  }

  /** The member to which an `ASK 3999 127.0.0.1:6381` sends this one call. */
  #askedOf({ word, error }: Refusal, saidBy: Member): Member | undefined {
    const address =
      word === 'ASK' ? readAddress(error.message.split(' ')[2] ?? '', saidBy.address) : undefined
    return address && this.#member(address)
  }

  #member(address: Address): Member {
    // The connection of a member that is made later would never be closed.
    if (this.#closed) throw closedError()
    const name = nameOf(address)
    let member = this.#members.get(name)
    if (!member) {
      member = new Member(this.#transport, address, this.#settings)
      this.#members.set(name, member)
    }
    return member
  }

  /** Finds out who owns what, unless that was done a moment ago. */
  refreshSoon(): void {
    if (this.#closed || this.#settings.clock.monotonicMs() - this.#refreshedMs < REFRESH_EVERY_MS)
      return
    // A call that needs the answer meets with the same trouble again.
    this.#refresh().catch(() => undefined)
  }

  /** Asks who owns what. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#askAround().finally(() => {
      this.#refreshing = undefined
      this.#refreshedMs = this.#settings.clock.monotonicMs()
    })
    return this.#refreshing
  }

  async #askAround(): Promise<void> {
    const ready = [...this.#members.values()].filter((member) => member.isReady)
    // Beginning with another one each time: one that was cut off from the others knows nothing new.
    const start = (this.#refreshes += 1) % Math.max(1, ready.length)
    for (const member of [...ready.slice(start), ...ready.slice(0, start)]) {
      if (await this.#askMember(member)) return
    }
    // Replicas, too: one of them may be the owner now.
    for (const address of this.#topology.known) {
      if (ready.some(({ name }) => name === nameOf(address))) continue
      if (await this.#askMember(this.#member(address))) return
    }
    if (this.#closed) throw closedError()
    try {
      const reply = this.#transport.command('CLUSTER', 'SLOTS')
      this.#load(await this.#within(this.#settings.requestTimeoutMs, reply), undefined)
    } catch (error) {
      throw explain(error)
    }
  }

  #within<T>(limitMs: number, answer: Promise<T>): Promise<T> {
    const { clock } = this.#settings
    return withTimeout(
      answer,
      limitMs,
      () => new Error(`No answer within ${Math.round(limitMs)} ms`),
      {
        clock,
      },
    )
  }

  async #askMember(member: Member): Promise<boolean> {
    try {
      const reply = await this.#within(LOOK_MS, member.call(showSlots))
      if (reply instanceof Refusal) return false
      this.#load(reply, member.address)
      return true
    } catch {
      // The next one may know.
      return false
    }
  }

  #load(reply: unknown, asked: Address | undefined): void {
    if (this.#closed) throw closedError()
    this.#topology.load(reply, asked)
    const owners = this.#topology.owners()
    for (const [name, member] of this.#members) {
      if (owners.has(name)) continue
      // What was sent to it and not answered yet is sent to the new owner: every verb may be
      // repeated.
      this.#members.delete(name)
      member.retire(gone(name))
    }
    this.onChange()
  }

  /** A member that is stopped, or a network that swallows everything, breaks no connection. */
  #startSweep(): Timer {
    const { clock } = this.#settings
    return clock.timer(SWEEP_MS, () => this.#sweepUp(clock.monotonicMs()), true)
  }

  #sweepUp(nowMs: number): void {
    for (const call of this.#calls) {
      const ageMs = nowMs - call.startedMs
      if (ageMs < SUSPECT_MS) break
      this.refreshSoon()
      if (ageMs < this.#settings.requestTimeoutMs) continue
      this.#calls.delete(call)
      call.reject(
        explain(
          call.trouble ?? new Error(`No answer within ${this.#settings.requestTimeoutMs} ms`),
        ),
      )
    }
    this.#sweep = this.#calls.size > 0 && !this.#closed ? this.#startSweep() : undefined
  }
}

/**
 * The next command may use a slot that is only about to come to the member. The two travel
 * together.
 */
function asking(send: Send): Send {
  return (ways, by) => {
    ways.transport.command('ASKING').catch(() => undefined)
    return send(ways, by)
  }
}

const showSlots: Send = ({ transport }) => transport.command('CLUSTER', 'SLOTS')

function noOwner(slot: number): Error {
  return new Error(`CLUSTERDOWN No member of the Cluster owns the slot ${slot}`)
}

function gone(name: string): StoreUnavailableError {
  return new StoreUnavailableError(`Redis: ${name} owns no slots of the Cluster any more.`, {
    store: STORE_NAME,
  })
}
