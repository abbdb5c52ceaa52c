/**
 * One visit to the lab: the servers that it starts, and everything else that has to be gone
 * afterwards.
 */
import type { ServiceName } from './services/catalogue.js'
import { onDeath } from '@holdfast/servers/service'
import { LabServerError } from './services/server-error.js'
import { Services } from './services/services.js'

export type Keep = (end: () => Promise<void>) => void

export class Visit {
  readonly services: Services
  readonly #ends: (() => Promise<void>)[] = []
  #ending: Promise<void> | undefined

  constructor(allowed: (name: ServiceName) => boolean) {
    this.services = new Services(allowed)
  }

  /** Whether its end has begun. */
  get ended(): boolean {
    return this.#ending !== undefined
  }

  /**
   * What is played here ends at once when a server dies under it. @throws LabServerError then
   * @param matters which servers it needs, by their names
   */
  unlessServersDie<T>(
    play: Promise<T>,
    matters: (server: string) => boolean = () => true,
  ): Promise<T> {
    let forget: (() => void) | undefined
    const died = new Promise<never>((_resolve, reject) => {
      forget = onDeath(({ name, output }) => {
        if (matters(name)) reject(deathOf(name, output))
      })
    })
    return Promise.race([died, play]).finally(() => forget?.())
  }

  /**
   * Remembers what has to be called at the end, however it comes. It may be called after it has
   * ended by itself.
   */
  readonly keep: Keep = (end) => {
    this.#ends.push(end)
    // The visitor has left meanwhile.
    if (this.#ending) void end()
  }

  end(): Promise<void> {
    return (this.#ending ??= this.#end())
  }

  async #end(): Promise<void> {
    await Promise.allSettled(this.#ends.map((end) => end()))
    await this.services.stop()
  }
}

const LAST_LINES = 5

function deathOf(name: string, output: string): LabServerError {
  const said = output.trim().split('\n').slice(-LAST_LINES).join('\n')
  return new LabServerError(said === '' ? 'diedSilently' : 'died', { name, said })
}
