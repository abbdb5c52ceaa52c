/**
 * The modelled Redis: connections, scripts that have to be known, channels to the clients that
 * listen now, and a wall clock. The grant rule runs instead of the scripts. What the scripts decide
 * is compared with that rule elsewhere, step by step; here it is the real client side that is
 * tried.
 */
import { createHash } from 'node:crypto'
import type { LockState, RuleStep } from 'holdfast/internal'
import type { Runtime } from '../runtime.js'
import { Host } from '../server/host.js'
import type { Access, Customer, Service } from '../server/service.js'
import { TokenLog } from '../redlock/token-log.js'
import type { Truth } from '../server/truth.js'
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'
import { openRedisAccess } from './access.js'
import { lockOf, ReplyError, type Endpoint, type Peer } from './peer.js'
import type { Keyspace } from './keyspace.js'
import { adopt, applyBatch, describe, downgrade, steal } from './scripts.js'
import { CommonTombstones } from './tombstones.js'

/** How far a proposed token may be ahead of the server's clock, as in `rule/parts/base.lua`. */
const MOST_AHEAD = 500_000

export class RedisServer implements Service, Endpoint, Keyspace {
  readonly host: Host
  readonly hosts: readonly Host[]
  readonly truth: Truth
  readonly rule: Runtime['rule']
  readonly tokens = new TokenLog()
  readonly channels = new Map<string, string>()
  readonly predecessors = new Map<string, string>()
  proposed: number | undefined
  life = 0
  readonly #runtime: Runtime
  readonly #clock: MachineClock
  readonly #step: RuleStep = { nowMs: 0, tokenFloor: 0, tombstoneLimit: 10_000, promoted: [] }
  /** The channel that each connection listens on, if any. */
  readonly #peers = new Map<Peer, string | undefined>()
  readonly #scripts = new Set<string>()
  #locks = new Map<string, LockState>()
  readonly #tombstones = new Map<string, CommonTombstones>()
  /** What the replica has got so far. */
  #replica = new Map<string, LockState>()

  readonly #tombstonesKept: number

  /** @param tombstonesKept how many common tombstones a lock has */
  constructor(
    agenda: Agenda,
    clock: MachineClock,
    runtime: Runtime,
    truth: Truth,
    tombstonesKept = Infinity,
  ) {
    this.#tombstonesKept = tombstonesKept
    this.#clock = clock
    this.#runtime = runtime
    this.rule = runtime.rule
    this.truth = truth
    this.host = new Host(agenda, clock, {
      onCrash: () => this.#disconnectAll(),
      onDataLoss: () => {
        this.#locks = new Map()
        this.#tombstones.clear()
        truth.forgetAll()
        this.tokens.startLife()
      },
      onCopy: () => (this.#replica = structuredClone(this.#locks)),
      onFailover: () => this.#becomeReplica(),
    })
    this.hosts = [this.host]
  }

  open(customer: Customer): Access {
    return openRedisAccess(this, customer, this.#runtime)
  }

  accept(peer: Peer): void {
    this.#peers.set(peer, undefined)
  }

  drop(peer: Peer): void {
    this.#peers.delete(peer)
  }

  execute(peer: Peer, [name = '', ...args]: readonly string[]): unknown {
    switch (name.toUpperCase()) {
      case 'SUBSCRIBE':
        if (this.#peers.has(peer)) this.#peers.set(peer, args[0])
        return 1
      case 'EVALSHA':
        if (!this.#scripts.has(args[0] ?? '')) throw new ReplyError('NOSCRIPT No matching script.')
        return this.#script(args)
      case 'EVAL':
        this.#scripts.add(
          createHash('sha1')
            .update(args[0] ?? '')
            .digest('hex'),
        )
        return this.#script(args)
      default:
        throw new ReplyError(`ERR unknown command '${name}'`)
    }
  }

  /** The server's time, in whole microseconds as TIME returns it. */
  begin(key: string): { readonly state: LockState; readonly step: RuleStep } {
    let state = this.#locks.get(key)
    if (!state) this.#locks.set(key, (state = this.rule.newLockState(lockOf(key))))
    const micros = Math.floor(this.#clock.wallMs() * 1000)
    this.#step.nowMs = micros / 1000
    const { proposed = 0 } = this
    this.#step.tokenFloor = Math.max(micros, Math.min(proposed, micros + MOST_AHEAD))
    return { state, step: this.#step }
  }

  tombstones(key: string): CommonTombstones {
    let tombstones = this.#tombstones.get(key)
    if (!tombstones)
      this.#tombstones.set(key, (tombstones = new CommonTombstones(this.#tombstonesKept)))
    return tombstones
  }

  publish(channel: string, text: string): void {
    for (const [peer, listened] of this.#peers) if (listened === channel) peer.push(text)
  }

  /**
   * @param args the script, how many keys there are, the keys, and what else the script is given
   */
  #script([, count, ...rest]: readonly string[]): unknown {
    const keys = rest.slice(0, Number(count))
    const words = rest.slice(Number(count))
    const [, what, ...args] = words
    const [key = ''] = keys
    try {
      if (what === 'downgrade') return downgrade(this, key, args)
      if (what === 'adopt') return adopt(this, key, args)
      if (what === 'steal') return steal(this, key, args)
      if (what === 'describe') return describe(this, keys)
      return applyBatch(this, keys, words)
    } finally {
      this.proposed = undefined
      for (const touched of new Set(keys)) this.observe(touched)
    }
  }

  observe(key: string): void {
    const { state, step } = this.begin(key)
    const lock = lockOf(key)
    this.truth.note(lock, this.rule.describe(lock, state, step)?.holders ?? [])
  }

  #becomeReplica(): void {
    this.#locks = this.#replica
    this.truth.setBack()
    this.tokens.startLife()
    for (const key of this.#locks.keys()) this.observe(key)
  }

  #disconnectAll(): void {
    this.life += 1
    this.#scripts.clear()
    const peers = [...this.#peers.keys()]
    this.#peers.clear()
    for (const peer of peers) peer.closed()
  }
}
