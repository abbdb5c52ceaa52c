/**
 * Which keys a script call declares. The scripts find the helper keys of a lock by themselves.
 *
 * Some servers and proxies refuse a script that touches a key which its call did not declare. There
 * each call declares all keys of its locks. Elsewhere that would cost the server 5% of a pair and
 * the client up to 35%.
 */
import type { LockError } from '../../../errors.js'
import { withHelpers } from '../keys.js'
import type { ReplyListener, ResilientCaller } from './resilient-caller.js'
import type { Script } from '../rule/scripts.generated.js'
import type { Transport } from './transports/transport.js'

/** As Dragonfly and others word it. */
const REFUSED = 'undeclared key'

/** Whether a server refused a script since its call did not declare a key. */
export function isUndeclared(answer: unknown): boolean {
  return (answer instanceof Error ? answer.message : String(answer)).includes(REFUSED)
}

/** Sends scripts to one server. It declares the helper keys once the server has asked for that. */
export class DeclaringSender {
  readonly #caller: ResilientCaller
  readonly #run: Transport['run']
  #declares: boolean

  /** @param declares whether calls declare the helper keys from the beginning */
  constructor(caller: ResilientCaller, run: Transport['run'], declares: boolean) {
    this.#caller = caller
    this.#run = run
    this.#declares = declares
  }

  /** Returns the keys to declare, for calls that are sent another way. */
  keysOf(keys: readonly string[]): readonly string[] {
    return this.#declares ? withHelpers(keys) : keys
  }

  send(
    listener: ReplyListener,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): void {
    if (this.#declares) {
      this.#caller.send(this.#run, listener, script, withHelpers(keys), args)
      return
    }
    const again = (): void => {
      this.#declares = true
      this.send(listener, script, keys, args)
    }
    this.#caller.send(this.#run, new UndeclaredAnswer(listener, again), script, keys, args)
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const done = (error: LockError | undefined, reply?: unknown): void => {
        if (error === undefined) resolve(reply)
        else reject(error)
      }
      this.send({ done }, script, keys, args)
    })
  }
}

/** Sends a refused call again. What it has done by then it does not do twice, as any request. */
class UndeclaredAnswer implements ReplyListener {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare private readonly listener: ReplyListener
  declare private readonly sendAgain: () => void

  constructor(listener: ReplyListener, sendAgain: () => void) {
    this.listener = listener
    this.sendAgain = sendAgain
  }

  done(error: LockError | undefined, reply?: unknown): void {
    const isRefused =
      error === undefined ? typeof reply === 'string' && isUndeclared(reply) : isUndeclared(error)
    if (isRefused) this.sendAgain()
    else this.listener.done(error, reply)
  }
}
