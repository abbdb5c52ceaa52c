/**
 * Clients on a stage: processes with a lock each, and everything that they do written down as a
 * timeline.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Actor } from '../../actor.js'
import type { Mark, Span, SpanKind, Timeline } from '../../report/timeline.js'
import type { Grant, OpenSettings } from './client.js'

export interface SceneSettings {
  readonly subject: string
  readonly redis: string
  readonly lock: string
  readonly ttlMs: number
}

export class Scene {
  readonly ttlMs: number
  readonly #settings: SceneSettings
  readonly #clients: Client[] = []
  readonly #spans: { -readonly [K in keyof Span]: Span[K] }[] = []
  readonly #marks: Mark[] = []
  /** When the first of them does something. */
  #startMs: number | undefined
  #endMs: number | undefined

  constructor(settings: SceneSettings) {
    this.#settings = settings
    this.ttlMs = settings.ttlMs
  }

  get nowMs(): number {
    const nowMs = this.#endMs ?? performance.now()
    return nowMs - (this.#startMs ??= nowMs)
  }

  get timeline(): Timeline {
    return {
      lanes: this.#clients.map(({ name }) => name),
      spans: this.#spans,
      marks: this.#marks,
      endMs: this.nowMs,
    }
  }

  /** A process with a lock, named A, B, C… `options` may point it to another server. */
  async client(options: Partial<OpenSettings> = {}): Promise<Client> {
    const name = String.fromCodePoint(0x41 + this.#clients.length)
    const client = new Client(name, this)
    this.#clients.push(client)
    await client.open({ ...this.#settings, ...options })
    return client
  }

  begin(lane: string, kind: SpanKind, label?: string): void {
    this.end(lane)
    this.#spans.push({ lane, kind, fromMs: this.nowMs, ...(label === undefined ? {} : { label }) })
  }

  /** Ends the span of a lane. */
  end(lane: string): void {
    const span = this.#spans.findLast((one) => one.lane === lane && one.toMs === undefined)
    if (span) span.toMs = this.nowMs
  }

  mark(lane: string, event: string): void {
    this.#marks.push({ lane, atMs: this.nowMs, event })
  }

  wait(ms: number): Promise<void> {
    return sleep(ms)
  }

  /** Ends the story and all processes. */
  async finish(): Promise<void> {
    this.#endMs ??= performance.now()
    await Promise.all(this.#clients.map((client) => client.end()))
  }
}

export class Client {
  readonly name: string
  readonly #scene: Scene
  readonly #actor: Actor
  token: bigint | undefined

  constructor(name: string, scene: Scene) {
    this.name = name
    this.#scene = scene
    this.#actor = new Actor(0)
  }

  async open(settings: OpenSettings): Promise<void> {
    await this.#actor.run('ladder-open', settings)
  }

  /**
   * Returns whether it was granted the lock in this time. A process that dies meanwhile was not.
   */
  async acquire(maxWaitMs: number): Promise<boolean> {
    this.#scene.begin(this.name, 'waits')
    const grant = (await this.#actor
      .run('ladder-acquire', { maxWaitMs })
      .catch(() => ({ granted: false }))) as Grant
    if (!grant.granted) this.#scene.end(this.name)
    else {
      this.token = grant.token === undefined ? undefined : BigInt(grant.token)
      this.#scene.begin(this.name, 'holds', grant.token)
    }
    return grant.granted
  }

  /**
   * Whether it believes that it holds the lock. What it has no right to is drawn as such from then
   * on.
   */
  async believes(rightly: boolean): Promise<boolean> {
    const held = (await this.#actor.run('ladder-believes', {})) as boolean
    if (!held) this.#scene.end(this.name)
    else if (!rightly) this.#scene.begin(this.name, 'believes')
    return held
  }

  async release(): Promise<void> {
    await this.#actor.run('ladder-release', {})
    this.#scene.end(this.name)
  }

  async kill(event: string): Promise<void> {
    this.#scene.mark(this.name, event)
    this.#scene.end(this.name)
    await this.#actor.kill()
  }

  stop(event: string): void {
    this.#actor.pause()
    this.#scene.mark(this.name, event)
    this.#scene.begin(this.name, 'stopped')
  }

  goOn(event: string): void {
    this.#actor.resume()
    this.#scene.end(this.name)
    this.#scene.mark(this.name, event)
  }

  mark(event: string): void {
    this.#scene.mark(this.name, event)
  }

  async end(): Promise<void> {
    await this.#actor.kill()
  }
}
