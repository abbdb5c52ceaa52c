/**
 * One visit to the lab: the servers that it starts, and everything else that has to be gone
 * afterwards.
 */
import type { ServiceName } from './services/catalogue.js'
import { StoreUnavailableError } from 'holdfast'
import { onDeath } from '@holdfast/servers/service'
import { Services } from './services/services.js'

export type Keep = (end: () => Promise<void>) => void

export class Visit {
  readonly services: Services
  readonly #ends: (() => Promise<void>)[] = []
  #ending: Promise<void> | undefined

  constructor(allowed: (name: ServiceName) => boolean) {
    this.services = new Services(allowed)
  }

  /**
   * What is played here ends at once when a server dies under it. @throws StoreUnavailableError
   * then
   */
  unlessServersDie<T>(play: Promise<T>): Promise<T> {
    let forget: (() => void) | undefined
    const died = new Promise<never>((_resolve, reject) => {
      forget = onDeath(({ name, output }) => reject(deathOf(name, output)))
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

function deathOf(name: string, output: string): StoreUnavailableError {
  const said = output.trim().split('\n').slice(-LAST_LINES).join('\n')
  const words = said === '' ? 'It said nothing.' : `It said:\n${said}`
  return new StoreUnavailableError(
    `${name} ended in the middle of the lab, which cannot go on without it. Start the lab again, or leave it out with --services. ${words}`,
  )
}
