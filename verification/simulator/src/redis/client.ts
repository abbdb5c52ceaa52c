/**
 * A client library like ioredis. It makes a broken connection again, and queues commands meanwhile.
 * Commands without an answer are sent again over the next connection. What had been on its way over
 * the old one may still arrive, before that or after.
 */
import type { IoRedisClient } from 'holdfast/redis'
import type { Dice } from '@holdfast/workload'
import type { Link } from '../world/link.js'
import type { Process } from '../world/process.js'
import { ReplyError, type Endpoint, type Peer } from './peer.js'

type Listener = (...args: unknown[]) => void

export interface ModelClientOptions {
  readonly server: Endpoint
  readonly process: Process
  readonly dice: Dice
  readonly link: Link
  /** All connections of the process, for the fault that breaks them. */
  readonly connections: Set<ModelClient>
  /** After this many failed connections the commands that wait for one fail. */
  readonly retries: number
  /** A request arrives twice only when it was sent again over another connection. */
  readonly resends?: boolean
}

interface Command {
  readonly words: readonly string[]
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** A connection on which something got lost is of no more use, and breaks within this time. */
const STALLED_MS = 400
/**
 * How long the library waits for a connection to stand. The kernel would try again within this time
 * when a packet is lost.
 */
const CONNECT_TIMEOUT_MS = 250

export class ModelClient implements IoRedisClient {
  readonly options = {}
  readonly #given: ModelClientOptions
  readonly #listeners = new Map<string, Set<Listener>>()
  /** Sent, and not answered yet; in the order of sending. */
  readonly #pending = new Set<Command>()
  #queue: Command[] = []
  #status: 'connecting' | 'ready' | 'reconnecting' | 'end' = 'connecting'
  #peer: Peer | undefined
  /** Of which life of the server the connection is. */
  #life = 0
  #lane = 0
  /** Something got lost on it: nothing that comes later gets through. */
  #stalled = false
  #failures = 0

  constructor(given: ModelClientOptions) {
    this.#given = given
    given.connections.add(this)
    this.#connect()
  }

  get status(): string {
    return this.#status
  }

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners.add(listener))
    return this
  }

  off(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  duplicate(): ModelClient {
    return new ModelClient({ ...this.#given, retries: Infinity })
  }

  call(...words: string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#status === 'end') reject(new Error('Connection is closed.'))
      else if (this.#status === 'ready') this.#send({ words, resolve, reject })
      else this.#queue.push({ words, resolve, reject })
    })
  }

  subscribe(...channels: string[]): Promise<unknown> {
    return this.call('SUBSCRIBE', ...channels)
  }

  /** The model never ends by itself. */
  connect(): Promise<never> {
    return Promise.reject(new Error('Redis is already connecting/connected'))
  }

  disconnect(): void {
    const peer = this.#peer
    this.#peer = undefined
    this.#status = 'end'
    this.#given.connections.delete(this)
    if (peer) this.#given.server.drop(peer)
  }

  /** The network breaks the connection. A stopped process learns it later. */
  reset(): void {
    const peer = this.#peer
    if (!peer) return
    this.#given.server.drop(peer)
    this.#given.process.receive(() => this.#lost(peer))
  }

  #connect(): void {
    const { server, process, link } = this.#given
    // Another path than the last connection had, if there is more than one: what is still on that
    // one may be overtaken.
    this.#lane = link.lane()
    const lane = this.#lane
    const peer: Peer = {
      push: (text) => {
        const arrived = swollen(text, link.conditions.swellsWakes)
        if (!link.wake(() => process.receive(() => this.#heard(peer, arrived)))) this.#stall(peer)
      },
      closed: () => void link.reply(lane, () => process.receive(() => this.#lost(peer))),
    }
    this.#peer = peer
    this.#stalled = false
    const timer = process.timer(CONNECT_TIMEOUT_MS, () => this.#lost(peer))
    const answer = (handle: () => void): void => {
      link.reply(lane, () =>
        process.receive(() => {
          timer.cancel()
          handle()
        }),
      )
    }
    link.request(lane, () => {
      if (server.host.down) answer(() => this.#lost(peer))
      else {
        server.host.receive(() => {
          server.accept(peer)
          const { life } = server
          answer(() => this.#ready(peer, life))
        })
      }
    })
  }

  #ready(peer: Peer, life: number): void {
    if (this.#peer !== peer || this.#status === 'ready') return
    this.#life = life
    this.#status = 'ready'
    this.#failures = 0
    const unanswered = [...this.#pending, ...this.#queue]
    this.#pending.clear()
    this.#queue = []
    for (const command of unanswered) this.#send(command)
    this.#emit('ready')
  }

  #lost(peer: Peer): void {
    if (this.#peer !== peer) return
    const { process, server, retries } = this.#given
    server.drop(peer)
    this.#peer = undefined
    this.#status = 'reconnecting'
    this.#failures += 1
    this.#emit('error', new Error('connect ECONNREFUSED'))
    this.#emit('close')
    if (this.#failures > retries) this.#giveUp()
    process.timer(Math.min(this.#failures * 50, 2000), () => {
      if (this.#status === 'end') return
      this.#status = 'connecting'
      this.#connect()
    })
  }

  #giveUp(): void {
    const given = [...this.#pending, ...this.#queue]
    this.#pending.clear()
    this.#queue = []
    const error = new Error('Reached the max retries per request limit.')
    for (const { reject } of given) reject(error)
  }

  #send(command: Command): void {
    const { server, process, link, resends } = this.#given
    const peer = this.#peer as Peer
    const [lane, life] = [this.#lane, this.#life]
    this.#pending.add(command)
    if (this.#stalled) return
    const answer = (settle: () => void): void => {
      const arrives = link.reply(lane, () =>
        process.receive(() => {
          // An answer over a connection that is gone, or a second answer, is dropped.
          if (this.#peer === peer && !this.#stalled && this.#pending.delete(command)) settle()
        }),
      )
      if (!arrives) this.#stall(peer)
    }
    const arrive = (): void => {
      // A restarted server does not know the connection. A closed one it may still read.
      if (server.host.down || server.life !== life) {
        peer.closed()
        return
      }
      server.host.receive(() => {
        try {
          const value = server.execute(peer, command.words)
          answer(() => command.resolve(value))
        } catch (error) {
          if (!(error instanceof ReplyError)) throw error
          answer(() => command.reject(error))
        }
      })
    }
    const leaves = resends === true ? link.requestOnce(lane, arrive) : link.request(lane, arrive)
    if (!leaves) this.#stall(peer)
  }

  /** The network loses a piece of the stream. What was sent before may still arrive. */
  #stall(peer: Peer): void {
    if (this.#peer !== peer || this.#stalled) return
    this.#stalled = true
    const { process, dice } = this.#given
    process.timer(dice.between(0, STALLED_MS), () => this.#lost(peer))
  }

  #heard(peer: Peer, text: string): void {
    if (this.#peer === peer && !this.#stalled) this.#emit('message', '', text)
  }

  #emit(event: string, ...args: unknown[]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(...args)
  }
}

/** A message whose grants claim a TTL that is `times` as long. */
function swollen(text: string, times: number): string {
  return times === 1 ? text : text.replace(/[\d.]+$/gm, (ttl) => String(Number(ttl) * times))
}
