/**
 * Several processes that play a scenario together. A killed one is replaced before the next
 * scenario.
 */
import { Actor, type Conduct } from '../actor.js'

export class ActorGroup {
  readonly #actors: Actor[]
  #started: number

  readonly #env: NodeJS.ProcessEnv

  /** @param env added to the environment of the processes */
  constructor(size: number, env: NodeJS.ProcessEnv = {}) {
    this.#env = env
    this.#actors = Array.from({ length: size }, (_, index) => new Actor(index + 1, env))
    this.#started = size
  }

  /** All processes, alive. */
  get actors(): readonly Actor[] {
    for (const [index, actor] of this.#actors.entries()) {
      if (!actor.alive) this.#actors[index] = new Actor((this.#started += 1), this.#env)
    }
    return this.#actors
  }

  /** Runs a part in every process, and resolves to what became of it in each. */
  play(
    part: string,
    settingsOf: (index: number) => unknown,
    conduct: Conduct = {},
  ): Promise<PromiseSettledResult<unknown>[]> {
    return Promise.allSettled(
      this.actors.map((actor, index) => actor.run(part, settingsOf(index), conduct)),
    )
  }

  async end(): Promise<void> {
    await Promise.all(this.#actors.map((actor) => actor.kill()))
  }
}
