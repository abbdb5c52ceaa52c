/**
 * The server of the controls: the modelled Redis on a machine with a wall clock, and those that
 * subscribed to channels.
 */
import { ModelRedis, type Command, type Reply, type Script } from '@holdfast/broken-locks'
import { Host } from '../server/host.js'
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'

export interface Subscriber {
  readonly channel: string
  readonly deliver: (message: string) => void
}

export class RedisServer {
  readonly host: Host
  readonly #clock: MachineClock
  readonly #redis = new ModelRedis()
  readonly #subscribers = new Set<Subscriber>()

  constructor(agenda: Agenda, clock: MachineClock) {
    this.#clock = clock
    this.host = new Host(agenda, clock, {
      onCrash: () => {
        this.#subscribers.clear()
        this.#redis.restart({ withData: true })
      },
      onDataLoss: () => this.#redis.restart({ withData: false }),
    })
  }

  command(command: Command): Reply {
    return this.#publishAfter(() => this.#redis.execute(command, this.#clock.wallMs()))
  }

  script(script: Script, keys: readonly string[], args: readonly (string | number)[]): Reply {
    return this.#publishAfter(() => this.#redis.script(script, keys, args, this.#clock.wallMs()))
  }

  subscribe(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber)
  }

  unsubscribe(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
  }

  #publishAfter(run: () => Reply): Reply {
    const reply = run()
    for (const { channel, message } of this.#redis.takePublished()) {
      for (const subscriber of this.#subscribers) {
        if (subscriber.channel === channel) subscriber.deliver(message)
      }
    }
    return reply
  }
}
