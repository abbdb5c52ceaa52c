/**
 * One process with a clock of its own. A test can drop, delay or double the messages of its
 * connection, and can stop or end the process. Without faults every message arrives at once.
 */
import {
  type Control,
  type ControlLease,
  type ControlLock,
  type ControlWorld,
  type RedisConnection,
  type Reply,
} from '@holdfast/broken-locks'
import type { Clock, Timer } from 'holdfast'
import { nanoseconds, Recorder, type HistoryEvent } from '@holdfast/conformance'
import { SeededRandom, type VirtualClock } from 'holdfast/testing'
import type { Server } from './server.js'

export interface Fate {
  readonly drop?: 'request' | 'reply'
  /** The request arrives when this resolves. */
  readonly hold?: Promise<void>
  readonly requestMs?: number
  readonly replyMs?: number
  /** The server gets it twice. */
  readonly twice?: boolean
}

/**
 * What becomes of a message, by the name of its command or script, and how many of that name went
 * before it.
 */
export type Faults = (name: string, before: number) => Fate | undefined

/** An acquire in progress. */
export interface Pending {
  settled: boolean
  lease?: ControlLease
  giveUp(): void
}

export interface ClientSetup {
  readonly name: string
  readonly seed: number
  readonly server: Server
  readonly clock: VirtualClock
  readonly create: Control['create']
  readonly history: HistoryEvent[]
  readonly ttlMs: number
}

export class Client {
  readonly lock: ControlLock
  readonly clock: Clock
  faults: Faults = () => undefined
  wallStepMs = 0
  readonly #base: VirtualClock
  readonly #server: Server
  readonly #sent = new Map<string, number>()
  #state: 'running' | 'paused' | 'dead' = 'running'
  #missed: (() => void)[] = []

  constructor({ name, seed, server, clock, create, history, ttlMs }: ClientSetup) {
    this.#base = clock
    this.#server = server
    this.clock = this.#ownClock()
    const world: ControlWorld = {
      clock: this.clock,
      random: new SeededRandom(seed),
      redis: this.#connection(),
    }
    this.lock = create(world, {
      lock: 'lock',
      ttlMs,
      requestTimeoutMs: 200,
      retryMs: 100,
      history: new Recorder(name, (event) => history.push(event), nanoseconds(clock)),
    })
  }

  /** Stops the process: no timer fires and no answer reaches it until it resumes. */
  pause(): void {
    this.#state = 'paused'
  }

  resume(): void {
    this.#state = 'running'
    const missed = this.#missed
    this.#missed = []
    for (const run of missed) run()
  }

  kill(): void {
    this.#state = 'dead'
  }

  /** Nothing that it sends from now on arrives. */
  cutOff(): void {
    this.faults = () => ({ drop: 'request' })
  }

  /** Begins to acquire. */
  start(): Pending {
    const waitLimit = new AbortController()
    const pending: Pending = { settled: false, giveUp: () => waitLimit.abort() }
    const settle = (lease?: ControlLease): void => {
      pending.settled = true
      if (lease) pending.lease = lease
    }
    this.lock.acquire(waitLimit.signal).then(settle, () => settle())
    return pending
  }

  /**
   * Its lease, or undefined if none came within `limitMs` of virtual time, or an error did; then it
   * gave up.
   */
  async tryFor(limitMs: number): Promise<ControlLease | undefined> {
    const pending = this.start()
    await this.#base.advance(0)
    for (let waitedMs = 0; !pending.settled && waitedMs < limitMs; waitedMs += 1)
      await this.#base.advance(1)
    pending.giveUp()
    await this.#base.advance(0)
    return pending.lease
  }

  #alive(run: () => void): void {
    if (this.#state === 'running') run()
    else if (this.#state === 'paused') this.#missed.push(run)
  }

  #ownClock(): Clock {
    const base = this.#base
    return {
      monotonicMs: () => base.monotonicMs(),
      wallMs: () => base.wallMs() + this.wallStepMs,
      timer: (delayMs, fire): Timer => {
        let cancelled = false
        const timer = base.timer(delayMs, () => this.#alive(() => (cancelled ? undefined : fire())))
        return {
          cancel() {
            cancelled = true
            timer.cancel()
          },
        }
      },
    }
  }

  #connection(): RedisConnection {
    const server = this.#server
    return {
      command: (name, ...args) => this.#send(name, () => server.command([name, ...args])),
      script: (script, keys, args) =>
        this.#send(script.name, () => server.script(script, keys, args)),
      subscribe: async (channel, listener) => ({
        close: server.subscribe(channel, (message) => this.#alive(() => listener(message))),
      }),
    }
  }

  #send(name: string, run: () => Reply): Promise<Reply> {
    if (this.#state !== 'running') return new Promise(() => undefined)
    const before = this.#sent.get(name) ?? 0
    this.#sent.set(name, before + 1)
    const {
      drop,
      hold,
      requestMs = 0,
      replyMs = 0,
      twice = false,
    } = this.faults(name, before) ?? {}
    return new Promise((resolve, reject) => {
      const arrive = (): void => {
        try {
          const reply = run()
          if (twice) run()
          if (drop === 'reply') return
          if (replyMs === 0) this.#alive(() => resolve(reply))
          else this.#base.timer(replyMs, () => this.#alive(() => resolve(reply)))
        } catch (error) {
          this.#alive(() => reject(error))
        }
      }
      if (drop === 'request') return
      if (hold) void hold.then(arrive)
      else if (requestMs > 0) this.#base.timer(requestMs, arrive)
      else arrive()
    })
  }
}
