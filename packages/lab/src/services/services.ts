/**
 * The servers of one visit to the lab: started when they are first needed, and all stopped at its
 * end.
 */
import { CATALOGUE, lacking, type Running, type ServiceName } from './catalogue.js'
import { LabServerError } from './server-error.js'

/** A service that is not there: the command that would bring it. */
export interface LeftOut {
  readonly service: ServiceName
  readonly command: string
}

export class Services {
  #allowed: (name: ServiceName) => boolean
  readonly #starting = new Map<ServiceName, Promise<Running | undefined>>()
  readonly #leftOut = new Map<ServiceName, LeftOut>()
  #ended = false

  /** @param allowed which services may be started, when not all */
  constructor(allowed: (name: ServiceName) => boolean = () => true) {
    this.#allowed = allowed
  }

  /** From now on only these may be started. */
  allow(allowed: (name: ServiceName) => boolean): void {
    this.#allowed = allowed
  }

  /** What was asked for and is not there. */
  get leftOut(): readonly LeftOut[] {
    return [...this.#leftOut.values()]
  }

  /** The address of a service, or undefined when it cannot be had. */
  async address(name: ServiceName): Promise<string | undefined> {
    if (!this.#allowed(name) || this.#ended) return undefined
    let running = this.#starting.get(name)
    if (!running) this.#starting.set(name, (running = this.#start(name)))
    return (await running)?.address
  }

  async stop(): Promise<void> {
    this.#ended = true
    const all = await Promise.allSettled(this.#starting.values())
    await Promise.allSettled(
      all.map(async (one) => (one.status === 'fulfilled' ? one.value?.stop() : undefined)),
    )
    this.#starting.clear()
  }

  async #start(name: ServiceName): Promise<Running | undefined> {
    const command = lacking(name)
    if (command !== undefined) {
      this.#leftOut.set(name, { service: name, command })
      return undefined
    }
    const running = await this.#tryStart(name)
    if (!this.#ended) return running
    // The visitor has left while it started.
    await running.stop()
    return undefined
  }

  async #tryStart(name: ServiceName): Promise<Running> {
    const { title, start } = CATALOGUE[name]
    try {
      return await start()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new LabServerError('notStarted', { title, why }, error)
    }
  }
}
