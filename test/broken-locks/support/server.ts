/** One modelled server in virtual time, and the messages that it hands on to its subscribers. */
import { ModelRedis, type Command, type Reply, type Script } from '@holdfast/broken-locks'
import type { VirtualClock } from 'holdfast/testing'

const EPOCH_MS = 1_700_000_000_000

export class Server {
  readonly redis = new ModelRedis()
  readonly #clock: VirtualClock
  readonly #subscribers = new Set<{ channel: string; listener: (message: string) => void }>()
  /** How many of its milliseconds pass in one of the clients'. */
  rate = 1
  losesMessages = false

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  command(command: Command): Reply {
    return this.#after(() => this.redis.execute(command, this.#nowMs()))
  }

  script(script: Script, keys: readonly string[], args: readonly (string | number)[]): Reply {
    return this.#after(() => this.redis.script(script, keys, args, this.#nowMs()))
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    const subscriber = { channel, listener }
    this.#subscribers.add(subscriber)
    return () => void this.#subscribers.delete(subscriber)
  }

  #nowMs(): number {
    return EPOCH_MS + this.#clock.monotonicMs() * this.rate
  }

  #after(run: () => Reply): Reply {
    const reply = run()
    for (const { channel, message } of this.redis.takePublished()) {
      if (this.losesMessages) continue
      for (const subscriber of this.#subscribers) {
        if (subscriber.channel === channel) subscriber.listener(message)
      }
    }
    return reply
  }
}
