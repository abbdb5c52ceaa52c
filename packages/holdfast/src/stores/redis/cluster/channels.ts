/**
 * Where the waiters of this client listen in a Cluster: one channel for each lock that somebody waits for, on the member
 * that owns the lock's slot, since a script there can publish to its own slots only (sharded pub/sub, Redis 7).
 *
 * A slot that moves takes the subscription with it. Waiters attempt again once a second, meet with the new owner, and
 * then the channel follows; whoever was granted the lock in between finds out by the wake-up that says so.
 */
import { isServerError, notHeard } from '../errors.js'
import { Readiness } from '../readiness.js'
import type { ShardConnection } from '../transports/transport.js'
import type { MessageListener, Subscription, Subscriptions } from '../wakes.js'
import type { Member } from './member.js'
import type { Router } from './router.js'

/** A channel that nobody needs any more is kept for so long, since whoever waited for a lock often does so again. */
const LINGER_MS = 5000
const RETRY_MS = 100
/** After a refusal that will hardly pass, such as a missing right. */
const REFUSED_RETRY_MS = 2000

class Channel {
  readonly lock: string
  readonly name: string
  readonly slot: number
  users = 0
  /** The member that was asked last. */
  at: Station | undefined
  listening = false
  heardBefore = false
  readonly readiness = new Readiness()
  timer: NodeJS.Timeout | undefined

  constructor(lock: string, name: string, slot: number) {
    this.lock = lock
    this.name = name
    this.slot = slot
  }
}

/** The connection to one member. */
interface Station {
  readonly member: Member
  connection: ShardConnection | undefined
  isOpen: boolean
}

export class Channels implements Subscriptions {
  readonly #router: Router
  readonly #listener: MessageListener
  readonly #nameOf: (lock: string) => string
  readonly #slotOf: (channel: string) => number
  readonly #channels = new Map<string, Channel>()
  readonly #stations = new Map<Member, Station>()
  #closed = false

  constructor(
    router: Router,
    listener: MessageListener,
    nameOf: (lock: string) => string,
    slotOf: (channel: string) => number,
  ) {
    this.#router = router
    this.#listener = listener
    this.#nameOf = nameOf
    this.#slotOf = slotOf
    router.onChange = () => this.#followSlots()
  }

  channelOf(lock: string): string {
    return this.#nameOf(lock)
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
    clearTimeout(joined.timer)
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
      clearTimeout(channel.timer)
      channel.readiness.tell()
    }
    this.#channels.clear()
    for (const station of this.#stations.values()) station.connection?.close()
    this.#stations.clear()
  }

  #leave(channel: Channel): void {
    channel.users -= 1
    if (channel.users > 0 || this.#closed) return
    channel.timer = setTimeout(() => {
      this.#channels.delete(channel.name)
      this.#detach(channel)
      channel.readiness.tell()
    }, LINGER_MS).unref()
  }

  #isWanted(channel: Channel): boolean {
    return !this.#closed && this.#channels.get(channel.name) === channel
  }

  #attach(channel: Channel): void {
    this.#router.ownerOf(channel.slot).then(
      (member) => {
        if (!this.#isWanted(channel) || channel.at !== undefined) return
        // Its slots went to another one in this very turn.
        if (member.isRetired) this.#attachLater(channel)
        else this.#subscribe(channel, this.#station(member))
      },
      () => this.#attachLater(channel),
    )
  }

  #attachLater(channel: Channel, afterMs = RETRY_MS): void {
    if (!this.#isWanted(channel)) return
    setTimeout(() => {
      if (this.#isWanted(channel) && channel.at === undefined) this.#attach(channel)
    }, afterMs).unref()
  }

  #subscribe(channel: Channel, station: Station): void {
    channel.at = station
    // Otherwise it is done when the connection is there.
    if (!station.isOpen || !station.connection) return
    station.connection.subscribe(channel.name).then(
      () => {
        if (channel.at === station) this.#heard(channel)
      },
      (error: unknown) => {
        if (channel.at !== station) return
        channel.at = undefined
        channel.listening = false
        const message = error instanceof Error ? error.message : ''
        if (this.#router.learn(message, station.member.address) && this.#isWanted(channel))
          this.#attach(channel)
        else if (isServerError(error)) this.#refused(channel, error)
        else this.#attachLater(channel)
      },
    )
  }

  #refused(channel: Channel, error: unknown): void {
    channel.readiness.refuse(notHeard(error, channel.lock))
    // Whoever waits on without it has to look when it is heard after all.
    channel.heardBefore = true
    this.#attachLater(channel, REFUSED_RETRY_MS)
  }

  #heard(channel: Channel): void {
    channel.listening = true
    channel.readiness.tell()
    // After a gap: whoever was granted the lock in it has to find out.
    if (channel.heardBefore) this.#listener.missed(channel.lock)
    channel.heardBefore = true
  }

  #detach(channel: Channel): void {
    const { at, listening } = channel
    channel.at = undefined
    channel.listening = false
    if (listening) at?.connection?.unsubscribe(channel.name)
  }

  #followSlots(): void {
    this.#leaveRetired()
    for (const channel of this.#channels.values()) {
      const { at } = channel
      if (!at) continue
      this.#router.ownerOf(channel.slot).then(
        (member) => {
          if (channel.at !== at || at.member === member || !this.#isWanted(channel)) return
          // Then it was found out already who comes after it, and this is done again.
          if (member.isRetired) return
          this.#detach(channel)
          this.#subscribe(channel, this.#station(member))
        },
        () => undefined,
      )
    }
  }

  /** Connections to members that own no slots any more: nothing breaks them, and nothing is said there. */
  #leaveRetired(): void {
    for (const station of this.#stations.values()) {
      if (!station.member.isRetired) continue
      this.#drop(station)
      for (const channel of this.#lost(station)) this.#attach(channel)
    }
  }

  #station(member: Member): Station {
    const known = this.#stations.get(member)
    if (known) return known
    const station: Station = { member, connection: undefined, isOpen: false }
    this.#stations.set(member, station)
    member.connection().then(
      (connection) => {
        if (this.#stations.get(member) !== station) return
        station.connection = connection.listenSharded({
          message: (_channel, text) => this.#listener.message(text),
          open: () => this.#open(station),
          broken: () => this.#broken(station),
        })
      },
      () => this.#broken(station),
    )
    return station
  }

  #open(station: Station): void {
    station.isOpen = true
    for (const channel of this.#channels.values())
      if (channel.at === station) this.#subscribe(channel, station)
  }

  #broken(station: Station): void {
    if (this.#stations.get(station.member) !== station) return
    this.#drop(station)
    // It may be dead, or have given a slot away.
    this.#router.lookSoon()
    for (const channel of this.#lost(station)) this.#attachLater(channel)
  }

  #drop(station: Station): void {
    this.#stations.delete(station.member)
    station.connection?.close()
  }

  /** The channels that were at a station, and now are nowhere. */
  #lost(station: Station): Channel[] {
    const lost = [...this.#channels.values()].filter(({ at }) => at === station)
    for (const channel of lost) {
      channel.at = undefined
      channel.listening = false
    }
    return lost
  }
}
