/**
 * A modelled Redis: a deterministic state machine that gets the time with each command.
 *
 * It has what the controls use, and answers as Redis 7 does, errors included. `test/controls`
 * compares it with a real server. It knows no network: who loses, delays or doubles a message does
 * so outside.
 */
import { COMMANDS } from './model/commands.js'
import type { Server } from './model/command.js'
import { Keyspace } from './model/keyspace.js'
import { ReplyError, type Command, type Reply, type Script } from './redis-connection.js'

export interface Published {
  readonly channel: string
  readonly message: string
}

export class ModelRedis {
  readonly #keys = new Keyspace()
  #published: Published[] = []
  readonly #server: Server = {
    keys: this.#keys,
    publish: (channel, message) => void this.#published.push({ channel, message }),
  }

  /** @throws ReplyError where Redis would answer with an error. */
  execute(command: Command, nowMs: number): Reply {
    this.#keys.begin(nowMs)
    return this.#call(command)
  }

  /**
   * Runs a script at one moment: its commands all see the same time, and none of another client
   * comes between.
   */
  script(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    nowMs: number,
  ): Reply {
    this.#keys.begin(nowMs)
    return script.run((...command) => this.#call(command), keys, args.map(String))
  }

  /**
   * The messages published since the last time, in order, for the network to deliver or to lose.
   */
  takePublished(): readonly Published[] {
    const taken = this.#published
    this.#published = []
    return taken
  }

  /**
   * The server was killed and came back: without persistence nothing is left. Expiry goes by the
   * wall clock.
   */
  restart({ withData }: { withData: boolean }): void {
    if (!withData) this.#keys.clear()
    this.#published = []
  }

  #call([name, ...args]: Command): Reply {
    const known = COMMANDS.get(name.toUpperCase())
    if (!known) throw new ReplyError(`ERR unknown command '${name}'`)
    if (args.length < known.least || args.length > known.most) {
      throw new ReplyError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`)
    }
    return known.run(this.#server, args.map(String))
  }
}
