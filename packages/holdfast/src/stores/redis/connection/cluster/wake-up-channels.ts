/**
 * The subscriptions of this client in a Cluster: one channel for each lock that has a waiter, on
 * the member that owns the lock's slot. A script there can publish to its own slots only (sharded
 * pub/sub, Redis 7).
 *
 * A slot that moves ends its subscriptions. Waiters attempt again once a second and reach the new
 * owner, and then the channel follows. A waiter that was granted the lock in between is woken by
 * `missed`.
 */
import type { Clock, Timer } from '../../../../clock/clock.js'
import { isServerError, noPubSub, notHeard } from '../../errors.js'
import { Readiness } from '../wake-up-channel.js'
import type { ShardConnection } from '../transports/transport.js'
import type { MessageListener, Subscription, Subscriptions } from '../subscriptions.js'
import type { Member } from './member.js'
import type { Router } from './router.js'

/** How long a channel without waiters is kept, since a client often waits for a lock again. */
const LINGER_MS = 5000
const RETRY_MS = 100
const LONGEST_RETRY_MS = 5000
/** After this many connections that ended before a channel was heard, it is reported. */
const HUNG_UP_IN_A_ROW = 5
/** After a refusal that will hardly pass, such as a missing right. */
const REFUSED_RETRY_MS = 2000

class Channel {
  readonly lock: string
  readonly name: string
  readonly slot: number
  users = 0
  /** The member that was asked last. */
  subscriber: ShardSubscriber | undefined
  listening = false
  heardBefore = false
  readonly readiness = new Readiness()
  timer: Timer | undefined

  constructor(lock: string, name: string, slot: number) {
    this.lock = lock
    this.name = name
    this.slot = slot
  }
}

/** The connection to one member. */
interface ShardSubscriber {
  readonly member: Member
  connection: ShardConnection | undefined
  isOpen: boolean
}

interface ChannelSettings {
  /** What stands before each key and channel of the store. */
  readonly start: string
  readonly nameOf: (lock: string) => string
  readonly slotOf: (channel: string) => number
  readonly clock: Clock
}

export class WakeUpChannels implements Subscriptions {
  readonly publishTo = (lock: string): string => `SPUBLISH ${this.#nameOf(lock)}`
  readonly #router: Router
  readonly #clock: Clock
  readonly #listener: MessageListener
  readonly #start: string
  readonly #nameOf: (lock: string) => string
  readonly #slotOf: (channel: string) => number
  readonly #channels = new Map<string, Channel>()
  readonly #subscribers = new Map<Member, ShardSubscriber>()
  /** How many connections have ended since a channel was heard. */
  #broken = 0
  #isReported = false
  #closed = false

  constructor(
    router: Router,
    listener: MessageListener,
    { start, nameOf, slotOf, clock }: ChannelSettings,
  ) {
    this.#router = router
    this.#clock = clock
    this.#listener = listener
    this.#start = start
    this.#nameOf = nameOf
    this.#slotOf = slotOf
    router.onChange = () => this.#followSlots()
  }

  join(lock: string): Subscription {
    const name = this.#nameOf(lock)
    let channel = this.#channels.get(name)
    if (!channel) {
      channel = new Channel(lock, name, this.#slotOf(name))
      this.#channels.set(name, channel)
      this.#attach(channel)
    }
    const joined = channel
    joined.users += 1
    joined.timer?.cancel()
    const waiting = joined.listening ? undefined : joined.readiness.join()
    return {
      ready: waiting?.ready,
      leave: () => {
        waiting?.leave()
        this.#leave(joined)
      },
    }
  }

  close(): void {
    this.#closed = true
    for (const channel of this.#channels.values()) {
      channel.timer?.cancel()
      channel.readiness.succeed()
    }
    this.#channels.clear()
    for (const subscriber of this.#subscribers.values()) subscriber.connection?.close()
    this.#subscribers.clear()
  }

  #leave(channel: Channel): void {
    channel.users -= 1
    if (channel.users > 0 || this.#closed) return
    const detach = (): void => {
      this.#channels.delete(channel.name)
      this.#detach(channel)
      channel.readiness.succeed()
    }
    channel.timer = this.#clock.timer(LINGER_MS, detach, true)
  }

  #isWanted(channel: Channel): boolean {
    return !this.#closed && this.#channels.get(channel.name) === channel
  }

  #attach(channel: Channel): void {
    this.#router.ownerOf(channel.slot).then(
      (member) => {
        if (!this.#isWanted(channel) || channel.subscriber !== undefined) return
        // Its slots went to another one in this very tick.
        if (member.isRetired) this.#attachLater(channel)
        else this.#subscribe(channel, this.#subscriberOf(member))
      },
      () => this.#attachLater(channel),
    )
  }

  #attachLater(channel: Channel, afterMs = RETRY_MS): void {
    if (!this.#isWanted(channel)) return
    const attach = (): void => {
      if (this.#isWanted(channel) && channel.subscriber === undefined) this.#attach(channel)
    }
    this.#clock.timer(afterMs, attach, true)
  }

  #subscribe(channel: Channel, subscriber: ShardSubscriber): void {
    channel.subscriber = subscriber
    // Otherwise it is done when the connection is there.
    if (!subscriber.isOpen || !subscriber.connection) return
    subscriber.connection.subscribe(channel.name).then(
      () => {
        if (channel.subscriber === subscriber) this.#heard(channel)
      },
      (error: unknown) => {
        if (channel.subscriber !== subscriber) return
        channel.subscriber = undefined
        channel.listening = false
        const message = error instanceof Error ? error.message : ''
        if (this.#router.learn(message, subscriber.member.address) && this.#isWanted(channel))
          this.#attach(channel)
        else if (isServerError(error)) this.#refused(channel, error)
        else this.#attachLater(channel)
      },
    )
  }

  #refused(channel: Channel, error: unknown): void {
    // Each channel would report the same.
    if (!this.#isReported)
      this.#isReported = channel.readiness.failOne(notHeard(error, this.#start, channel.lock))
    // A waiter without it has to ask when the subscription works after all.
    channel.heardBefore = true
    this.#attachLater(channel, REFUSED_RETRY_MS)
  }

  #heard(channel: Channel): void {
    channel.listening = true
    this.#broken = 0
    this.#isReported = false
    channel.readiness.succeed()
    // After a gap: a waiter that was granted the lock in it has to ask.
    if (channel.heardBefore) this.#listener.missed(channel.lock)
    channel.heardBefore = true
  }

  #detach(channel: Channel): void {
    const { subscriber: at, listening } = channel
    channel.subscriber = undefined
    channel.listening = false
    if (listening) at?.connection?.unsubscribe(channel.name)
  }

  #followSlots(): void {
    this.#leaveRetired()
    for (const channel of this.#channels.values()) {
      const { subscriber: at } = channel
      if (!at) continue
      this.#router.ownerOf(channel.slot).then(
        (member) => {
          if (channel.subscriber !== at || at.member === member || !this.#isWanted(channel)) return
          // Then it was found out already who comes after it, and this is done again.
          if (member.isRetired) return
          this.#detach(channel)
          this.#subscribe(channel, this.#subscriberOf(member))
        },
        () => undefined,
      )
    }
  }

  /**
   * Connections to members that own no slots any more: nothing breaks them, and nothing is said
   * there.
   */
  #leaveRetired(): void {
    for (const subscriber of this.#subscribers.values()) {
      if (!subscriber.member.isRetired) continue
      this.#drop(subscriber)
      for (const channel of this.#lost(subscriber)) this.#attach(channel)
    }
  }

  #subscriberOf(member: Member): ShardSubscriber {
    const known = this.#subscribers.get(member)
    if (known) return known
    const subscriber: ShardSubscriber = { member, connection: undefined, isOpen: false }
    this.#subscribers.set(member, subscriber)
    member.connection().then(
      (connection) => {
        if (this.#subscribers.get(member) !== subscriber) return
        subscriber.connection = connection.listenSharded({
          message: (_channel, text) => this.#listener.message(text),
          open: () => this.#open(subscriber),
          broken: () => this.#onBroken(subscriber),
        })
      },
      () => this.#onBroken(subscriber),
    )
    return subscriber
  }

  #open(subscriber: ShardSubscriber): void {
    subscriber.isOpen = true
    for (const channel of this.#channels.values())
      if (channel.subscriber === subscriber) this.#subscribe(channel, subscriber)
  }

  #onBroken(subscriber: ShardSubscriber): void {
    if (this.#subscribers.get(subscriber.member) !== subscriber) return
    this.#drop(subscriber)
    // It may be dead, or have given a slot away.
    this.#router.refreshSoon()
    // A proxy may end each connection at SSUBSCRIBE.
    const pauseMs = Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** this.#broken)
    this.#broken += 1
    const wasOpen = subscriber.isOpen
    for (const channel of this.#lost(subscriber)) {
      if (wasOpen && this.#broken >= HUNG_UP_IN_A_ROW) this.#refused(channel, noPubSub())
      else this.#attachLater(channel, pauseMs)
    }
  }

  #drop(subscriber: ShardSubscriber): void {
    this.#subscribers.delete(subscriber.member)
    subscriber.connection?.close()
  }

  /** Returns the channels that were subscribed there, and now are nowhere. */
  #lost(subscriber: ShardSubscriber): Channel[] {
    const lost = [...this.#channels.values()].filter(({ subscriber: at }) => at === subscriber)
    for (const channel of lost) {
      channel.subscriber = undefined
      channel.listening = false
    }
    return lost
  }
}
