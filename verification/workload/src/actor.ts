/** One actor: takes locks one after the other, as a careful program does, and records it. */
import type { Lease, WriteLease } from 'holdfast'
import type { HistoryNote } from '@holdfast/conformance'
import type { Belief, Claimed } from './belief.js'
import { increment, type Resource } from './counter.js'
import { AbortedByCaller } from './expected.js'
import type { Operation } from './script.js'
import type { Target } from './targets.js'

/** How long an actor works before it looks at its lease again. */
const LOOK_EVERY_MS = 60
/** When the environment closes, work that is in progress ends within this time. */
const CLOSING_WORK_MS = 5

/** A wait that ended without a lease. */
export interface EndedWait {
  readonly actor: string
  readonly lock: string
  readonly how: Task['how']
  readonly waitMs: number
  readonly waitedMs: number
  readonly error: unknown
}

/** The process of an actor: virtual time and a modelled network, or a real process. */
export interface Environment {
  /** Nothing new is begun, and work comes to its end. */
  readonly closing: boolean
  readonly resource: Resource
  /** How many actors wait for a lock now. */
  waiting: number
  nowMs(): number
  /** Resolves with the time that counts as slept. */
  sleep(ms: number): Promise<number>
  after(ms: number, act: () => void): void
  target(operation: Operation): Target
  /** Calls the library, so that a claim it makes at once is known to be this actor's. */
  call<T>(actor: string, lock: string, request: () => Promise<T>): Promise<T>
  steal(lock: string): Promise<unknown>
  believe(actor: string, lease: Lease, claimed: Claimed): Belief
  forget(belief: Belief): void
  /** Work begins under a lease. */
  workBegan(belief: Belief): void
  /** Work ended early, since the lease was not held any more. */
  workCut(belief: Belief): Promise<void>
  waitEnded(wait: EndedWait): void
  /** Exports the lease for the heirs of the operation. Resolves to false if it is still here. */
  handOver?(belief: Belief, operation: Operation): Promise<boolean>
  /** Lives with a failure that is expected; throws any other. */
  endure(error: unknown): Promise<void>
  note(actor: string, note: HistoryNote): void
  /** An error that no careful program has to expect. */
  fault(message: string): void
}

/** One lock to take, and the work under it. */
export interface Task {
  readonly target: Target
  readonly how: 'acquire' | 'run' | 'try' | 'adopt'
  /** What is adopted. */
  readonly handle?: string
  readonly waitMs: number
  /** The caller aborts the wait after so long. */
  readonly abortMs?: number | undefined
  /** Of a run: the lock stays taken for so long, also when the work ends sooner. */
  readonly atLeastMs?: number
  readonly work: (belief: Belief) => Promise<void>
  /** Leaves the lease to others. Resolves to false if it is still here. */
  readonly leave?: ((belief: Belief) => Promise<boolean>) | undefined
}

/** What an actor does next: think, then act. */
export interface Step {
  readonly thinkMs: number
  readonly act: (actor: Actor) => Promise<void>
}

export class Actor {
  readonly name: string
  readonly environment: Environment

  constructor(name: string, environment: Environment) {
    this.name = name
    this.environment = environment
  }

  /** Takes step after step until there is none or the environment closes. */
  async run(next: () => Step | undefined): Promise<void> {
    const { environment } = this
    try {
      while (!environment.closing) {
        const step = next()
        if (!step) break
        await environment.sleep(step.thinkMs)
        if (!environment.closing) await step.act(this)
      }
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      environment.fault(`${this.name} met an error: ${text}`)
    }
  }

  async perform(operation: Operation): Promise<void> {
    const { how, waitMs, abortMs } = operation
    if (how === 'steal') return this.#steal(operation.lock)
    const target = this.environment.target(operation)
    const work = (belief: Belief): Promise<void> => this.#work(operation, target, belief)
    const { environment } = this
    const leave =
      operation.heirs.length > 0 && environment.handOver
        ? (belief: Belief) => environment.handOver?.(belief, operation) ?? Promise.resolve(false)
        : undefined
    return this.hold({ target, how, waitMs, abortMs, work, leave })
  }

  /** Takes a lock, works under it and gives it back. */
  async hold(task: Task): Promise<void> {
    const { environment, name } = this
    const { target, how, waitMs } = task
    this.#note({ ...target.claimed, f: 'acquire', type: 'invoke' })
    const startMs = environment.nowMs()
    let begun = false
    environment.waiting += 1
    const believe = (lease: Lease): Belief => {
      begun = true
      environment.waiting -= 1
      return environment.believe(name, lease, target.claimed)
    }
    const fail = (): void => {
      environment.waiting -= 1
      this.#note({ ...target.claimed, f: 'acquire', type: 'fail' })
    }
    try {
      await this.#take(task, believe)
      if (!begun) fail()
    } catch (error) {
      if (!begun) {
        fail()
        const waitedMs = environment.nowMs() - startMs
        const lock = target.claimed.key
        environment.waitEnded({ actor: name, lock, how, waitMs, waitedMs, error })
      }
      await environment.endure(error)
    }
  }

  /** Works for so long, and looks at the lease again and again. */
  async workFor(workMs: number, belief: Belief): Promise<void> {
    const { environment } = this
    for (let leftMs = workMs; leftMs > 0;) {
      const mostMs = environment.closing ? CLOSING_WORK_MS : LOOK_EVERY_MS
      leftMs -= await environment.sleep(Math.min(leftMs, mostMs))
      if (!belief.isHeld()) return environment.workCut(belief)
      if (environment.closing) return
    }
  }

  async #steal(lock: string): Promise<void> {
    try {
      await this.environment.steal(lock)
    } catch (error) {
      await this.environment.endure(error)
    }
  }

  async #take(task: Task, believe: (lease: Lease) => Belief): Promise<void> {
    const { how, work, leave, atLeastMs, handle = '' } = task
    const { lock, claimed } = task.target
    const options = this.#waitOptions(task)
    const call = <T>(request: () => Promise<T>): Promise<T> =>
      this.environment.call(this.name, claimed.key, request)
    if (atLeastMs !== undefined) {
      await this.#takeForAtLeast(task, atLeastMs, believe)
      return
    }
    if (how === 'run') {
      await call(() =>
        lock.run(async (lease) => {
          const belief = believe(lease)
          await work(belief)
          if (!(await leave?.(belief))) this.#end(belief)
        }, options),
      )
      return
    }
    const lease = await call(() => {
      if (how === 'adopt') return lock.adopt(handle)
      return how === 'try' ? lock.tryAcquire() : lock.acquire(options)
    })
    if (!lease) return
    const belief = believe(lease)
    await work(belief)
    if (!(await leave?.(belief))) await this.#giveBack(belief)
  }

  /** Believes in the lock for as long as it is promised to stay taken. */
  async #takeForAtLeast(
    task: Task,
    atLeastMs: number,
    believe: (lease: Lease) => Belief,
  ): Promise<void> {
    const { environment, name } = this
    const { lock, claimed } = task.target
    const options = { ...this.#waitOptions(task), atLeastMs }
    let belief: Belief | undefined
    let endMs = 0
    const work = async (lease: Lease): Promise<void> => {
      belief = believe(lease)
      endMs = environment.nowMs() + lease.remainingMs - longerThan(atLeastMs)
      await task.work(belief)
      environment.forget(belief)
      // Now, since the process may be stopped at the end, and killed then.
      if (belief.isHeld()) belief.release(endMs - environment.nowMs())
    }
    try {
      await environment.call(name, claimed.key, () => lock.run(work, options))
    } finally {
      const leftMs = endMs - environment.nowMs()
      if (belief?.isOver === false) belief.release(leftMs)
      if (leftMs > 0) await environment.sleep(leftMs)
    }
  }

  #waitOptions({ waitMs, abortMs }: Task): { waitMs: number; signal?: AbortSignal } {
    if (abortMs === undefined) return { waitMs }
    const controller = new AbortController()
    this.environment.after(abortMs, () => controller.abort(new AbortedByCaller()))
    return { waitMs, signal: controller.signal }
  }

  async #work(operation: Operation, target: Target, belief: Belief): Promise<void> {
    if (operation.idle) return
    this.environment.workBegan(belief)
    await this.increment(belief)
    if (operation.twist !== 'none') await this.#twist(operation, target, belief)
    if (operation.nested && !this.environment.closing) await this.perform(operation.nested)
    await this.workFor(operation.workMs, belief)
    await this.increment(belief)
  }

  async #twist(operation: Operation, target: Target, belief: Belief): Promise<void> {
    const { twist, how } = operation
    const { lease } = belief
    if (!belief.isHeld()) return
    try {
      if (twist === 'renew') await lease.renew()
      else if (twist === 're-enter' && how === 'run' && belief.isExclusive) {
        await target.lock.run(() => this.increment(belief))
      } else if (twist === 'read' && how === 'run' && belief.isExclusive) {
        const reader = this.environment.target({ ...operation, write: false })
        await reader.lock.run(() => this.increment(belief))
      } else if (twist === 'downgrade')
        await belief.downgrade(() => (lease as WriteLease).downgrade())
    } catch (error) {
      await this.environment.endure(error)
    }
  }

  /** Increments the counter that the lock protects, if the lease is exclusive. */
  async increment(belief: Belief): Promise<void> {
    const { lease, key, owner } = belief
    const { token } = lease
    if (!belief.isExclusive || !belief.isHeld()) return
    await increment(this.environment.resource, {
      key,
      owner,
      token,
      believes: () => belief.isHeld(),
      note: (note) => this.#note(note),
    })
  }

  async #giveBack(belief: Belief): Promise<void> {
    this.#end(belief)
    try {
      belief.released(await belief.lease.release())
    } catch (error) {
      belief.released(undefined)
      await this.environment.endure(error)
    }
  }

  #end(belief: Belief): void {
    belief.isHeld()
    belief.release()
    this.environment.forget(belief)
  }

  #note(note: HistoryNote): void {
    this.environment.note(this.name, note)
  }
}

/** How much longer than `atLeastMs` its fixed lease lasts: see `locks/at-least.ts`. */
function longerThan(atLeastMs: number): number {
  return 0.02 * atLeastMs + 1001
}
