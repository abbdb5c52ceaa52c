/**
 * One actor: does what its script says, one thing at a time, as a careful program would, and writes
 * down all of it.
 */
import { isLockError, type Lease, type WriteLease } from 'holdfast'
import type { HistoryNote } from 'holdfast/conformance'
import { AbortedByCaller, isExpected, type Client, type Target } from './client.js'
import type { Belief, Claimed } from './belief.js'
import type { Circumstances } from './circumstances.js'
import type { ActorScript, Operation } from './script.js'

/** How long an actor works before it looks at its lease again. */
const LOOK_EVERY_MS = 60
/** The clock of a process may be fast, so a wait may end so early by the true one. */
const EARLY_SHARE = 0.99
const EARLY_MS = 1

export class Actor {
  readonly script: ActorScript
  /** Which operation is next, for whoever goes on after a crash. */
  position: number
  done = false
  #client: Client
  readonly #circumstances: Circumstances

  constructor(script: ActorScript, client: Client, circumstances: Circumstances, position = 0) {
    this.script = script
    this.#client = client
    this.#circumstances = circumstances
    this.position = position
  }

  async run(): Promise<void> {
    const { operations, name } = this.script
    try {
      while (this.position < operations.length && !this.#circumstances.closing) {
        const operation = operations[this.position] as Operation
        this.position += 1
        await this.#client.sleep(operation.thinkMs)
        if (!this.#circumstances.closing) await this.#perform(operation)
      }
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#circumstances.breach({
        property: 'error',
        key: '',
        message: `${name} met an error: ${text}`,
      })
    }
    this.done = true
  }

  async #perform(operation: Operation): Promise<void> {
    if (operation.how === 'steal') return this.#steal(operation.lock)
    const target = this.#client.target(operation)
    this.#note(target.claimed, { f: 'acquire', type: 'invoke' })
    const askedMs = this.#client.agenda.nowMs
    let begun = false
    try {
      await this.#take(operation, target, (lease) => {
        begun = true
        return this.#client.believe(this.script.name, lease, target.claimed)
      })
    } catch (error) {
      if (!isExpected(error)) throw error
      if (!begun) this.#judgePatience(operation, askedMs, error)
    }
    if (!begun) this.#note(target.claimed, { f: 'acquire', type: 'fail' })
  }

  /** A caller that says how long it waits waits so long, whatever becomes of the store. */
  #judgePatience({ how, lock, waitMs }: Operation, askedMs: number, error: unknown): void {
    if (how === 'try' || !isLockError(error)) return
    if (error.code !== 'STORE_UNAVAILABLE' && error.code !== 'LOCK_TIMEOUT') return
    const waitedMs = this.#client.agenda.nowMs - askedMs
    if (waitedMs >= waitMs * EARLY_SHARE - EARLY_MS) return
    const message =
      `${this.script.name} was to wait ${waitMs.toFixed(0)} ms for "${lock}", ` +
      `and got ${error.code} after ${waitedMs.toFixed(0)} ms.`
    this.#circumstances.breach({ property: 'patience', key: lock, message })
  }

  async #steal(lock: string): Promise<void> {
    try {
      await this.#client.locks.steal(lock)
    } catch (error) {
      if (!isExpected(error)) throw error
    }
  }

  async #take(
    operation: Operation,
    target: Target,
    believe: (lease: Lease) => Belief,
  ): Promise<void> {
    const { lock } = target
    const options = this.#waitOptions(operation)
    const ask = <T>(call: () => Promise<T>): Promise<T> =>
      this.#client.asking(this.script.name, operation.lock, call)
    if (operation.how === 'run') {
      await ask(() =>
        lock.run(async (lease) => {
          const belief = believe(lease)
          await this.#work(operation, target, belief)
          this.#end(belief)
        }, options),
      )
      return
    }
    const lease = await ask(() =>
      operation.how === 'try' ? lock.tryAcquire() : lock.acquire(options),
    )
    if (!lease) return
    const belief = believe(lease)
    await this.#work(operation, target, belief)
    await this.#giveBack(belief)
  }

  #waitOptions({ waitMs, abortMs }: Operation): { waitMs: number; signal?: AbortSignal } {
    if (abortMs === undefined) return { waitMs }
    const controller = new AbortController()
    this.#client.process.timer(abortMs, () => controller.abort(new AbortedByCaller()))
    return { waitMs, signal: controller.signal }
  }

  async #work(operation: Operation, target: Target, belief: Belief): Promise<void> {
    if (operation.idle) return
    belief.lease.signal.addEventListener('abort', () => belief.lost(), { once: true })
    await this.#increment(belief)
    if (operation.twist !== 'none') await this.#twist(operation, target, belief)
    if (operation.nested) await this.#perform(operation.nested)
    await this.#hold(operation.workMs, belief)
    await this.#increment(belief)
  }

  async #hold(workMs: number, belief: Belief): Promise<void> {
    for (let leftMs = workMs; leftMs > 0 && !this.#circumstances.closing; leftMs -= LOOK_EVERY_MS) {
      await this.#client.sleep(Math.min(leftMs, LOOK_EVERY_MS))
      if (!belief.look()) return this.#lookAgain(belief)
    }
  }

  /**
   * While the clocks disagree a lease is in doubt: it may be held again when the store has
   * answered.
   */
  async #lookAgain({ lease, key, client }: Belief): Promise<void> {
    await this.#client.sleep(LOOK_EVERY_MS)
    if (!lease.held || this.#client.serverHolds(lease.claimId)) return
    const message = `"${key}" was in doubt, and is held again by ${client}, though the server holds it for others.`
    this.#circumstances.breach({ property: 'regained', key, message })
  }

  async #twist(operation: Operation, target: Target, belief: Belief): Promise<void> {
    const { twist, how } = operation
    const { lease } = belief
    if (!belief.look()) return
    try {
      if (twist === 'renew') await lease.renew()
      else if (twist === 're-enter' && how === 'run' && belief.exclusive) {
        await target.lock.run(() => this.#increment(belief))
      } else if (twist === 'read' && how === 'run' && belief.exclusive) {
        const reader = this.#client.target({ ...operation, write: false })
        await reader.lock.run(() => this.#increment(belief))
      } else if (twist === 'downgrade')
        await belief.downgrade(() => (lease as WriteLease).downgrade())
    } catch (error) {
      if (!isExpected(error)) throw error
    }
  }

  /** Reads the counter, goes home, and writes one more. */
  async #increment(belief: Belief): Promise<void> {
    const { counters } = this.#client
    const { lease, key } = belief
    const { token } = lease as { token: bigint | undefined }
    const owner = `${lease.claimId}/${String(token)}`
    if (!belief.exclusive || !belief.look()) return
    const shown = token === undefined ? {} : { token }
    this.#note({ key }, { f: 'read', type: 'invoke', ...shown })
    const value = await this.#client.visit(() => counters.read(key, owner, token))
    if (value === undefined) this.#note({ key }, { f: 'read', type: 'fail', ...shown })
    else this.#note({ key }, { f: 'read', type: 'ok', value, ...shown })
    if (value === undefined || !belief.look()) return
    const write = { f: 'write', value: value + 1, ...shown } as const
    this.#note({ key }, { type: 'invoke', ...write })
    const written = await this.#client.visit(() => counters.write(key, owner, token, value + 1))
    this.#note({ key }, { type: written ? 'ok' : 'fail', ...write })
  }

  async #giveBack(belief: Belief): Promise<void> {
    this.#end(belief)
    try {
      belief.released(await belief.lease.release())
    } catch (error) {
      belief.released(undefined)
      if (!isExpected(error)) throw error
    }
  }

  #end(belief: Belief): void {
    belief.look()
    belief.release()
    this.#client.forget(belief)
  }

  #note(claimed: Claimed | { key: string }, note: Omit<HistoryNote, 'key'>): void {
    this.#client.chronicle.note(this.#client.process.pid, this.script.name, { ...claimed, ...note })
  }
}
