/**
 * Calls as traces, published through the tracing channels of `node:diagnostics_channel`. The names
 * and contexts are public. A context is built only if its channel has subscribers.
 *
 * What a subscriber binds to `start` with `bindStore` reaches the request to the store. So the span
 * of a caller becomes the parent of the command that its call sends.
 */
import { AsyncResource } from 'node:async_hooks'
import { tracingChannel, type TracingChannel } from 'node:diagnostics_channel'
import { rejectForCallers } from '../../async/caller-frames.js'
import { detached, startWithoutValue } from '../../async/async-context.js'
import type { LockKind } from '../../store/contract.js'
import { withJson } from '../../store/with-json.js'
import type { Runtime } from './runtime.js'

/** How a call of `acquire`, `tryAcquire`, `run`, `adopt` or `campaign` got its lease, or not. */
export type AcquireOutcome =
  /** The store granted it, or the call entered a lease that its async context holds. */
  | 'granted'
  /** A caller of this process passed it on. */
  | 'handed_off'
  /** The lock was taken, and the call did not wait. */
  | 'busy'
  /** Its `waitMs` passed first. */
  | 'timeout'
  /** Its signal, `close` or `resign` ended it. */
  | 'aborted'
  /** It failed. `error` says why. */
  | 'error'

/**
 * The context of a trace: one object from `start` to `asyncEnd`, to which the client adds what it
 * learns.
 */
export interface LockTrace<Outcome extends string = string> {
  /** The full name of the lock. */
  readonly lock: string
  /** The kind of the lock. An election and each stripe is a mutex. */
  readonly kind: LockKind
  /** The name of the store, such as `redis`. */
  readonly store: string
  /** The client: one `createLocks` call. */
  readonly clientId: string
  /**
   * The claim; undefined until there is one. A caller that waits behind another one of its client
   * has none of its own.
   */
  readonly claimId: string | undefined
  /** The fencing token of the lease, where there is a lease. */
  readonly token?: bigint
  /** How the call ended. Missing until then. */
  readonly outcome?: Outcome
  /** With what the call was rejected. */
  readonly error?: unknown
}

/**
 * The traces and their contexts. A trace has the channels `start`, `end`, `asyncStart`, `asyncEnd`
 * and `error`, as `tracingChannel` of Node defines them. Its name is `holdfast:NAME`.
 */
export interface LockTraces {
  /** One call, until it has its lease or fails. */
  acquire: LockTrace<AcquireOutcome>
  /** One callback under a lease. */
  run: LockTrace<'completed' | 'error'>
  /** One renewal of a lease. */
  renew: LockTrace<'renewed' | 'lost' | 'unknown'>
  /** One release of a lease. */
  release: LockTrace<'released' | 'lost' | 'error'>
}

/** The name of a trace, as its channels have it behind `holdfast:`. */
export type LockTraceName = keyof LockTraces

/** The outcomes of a kind of trace. */
export type OutcomeOf<N extends LockTraceName> = NonNullable<LockTraces[N]['outcome']>

type Context = { -readonly [K in keyof LockTrace]: LockTrace[K] }

export const traceChannels: Readonly<Record<LockTraceName, TracingChannel<unknown, object>>> = {
  acquire: tracingChannel('holdfast:acquire'),
  run: tracingChannel('holdfast:run'),
  renew: tracingChannel('holdfast:renew'),
  release: tracingChannel('holdfast:release'),
}

/**
 * Whether a trace has subscribers. Asks its channels one by one: Bun's tracing channels have no
 * `hasSubscribers`. Each function has its channels as constants, which V8 compiles to nothing while
 * they have no subscribers. Looking them up by name took 12 ns for each acquire and release.
 */
export const isTraced: Readonly<Record<LockTraceName, () => boolean>> = {
  acquire: watcherOf('acquire'),
  run: watcherOf('run'),
  renew: watcherOf('renew'),
  release: watcherOf('release'),
}

function watcherOf(name: LockTraceName): () => boolean {
  const { start, end, asyncStart, asyncEnd, error } = traceChannels[name]
  return () =>
    start.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers
}

/**
 * Runs the part of a traced call that sends its request. For tracers whose context no
 * AsyncLocalStorage holds, so that `bindStore` cannot carry it.
 */
export type TraceScope = <T>(name: LockTraceName, trace: LockTrace, work: () => T) => T

const scopes = new Set<TraceScope>()

/** Adds a scope around all traced calls. Returns a function that removes it. */
export function addTraceScope(scope: TraceScope): () => void {
  scopes.add(scope)
  return () => void scopes.delete(scope)
}

function insideScopes<T>(name: LockTraceName, trace: LockTrace, work: () => T): T {
  let inside = work
  for (const scope of scopes) {
    const outer = inside
    inside = () => scope(name, trace, outer)
  }
  return inside()
}

/** What a trace is about, as far as it is known at its start. */
export interface TraceSubject {
  readonly lock: string
  readonly kind: LockKind
  readonly claimId?: string
  readonly token?: bigint
}

/** One call that is traced. Subscribers run outside of the locks of the caller. */
export class CallTrace<N extends LockTraceName> {
  protected readonly context: Context
  readonly #name: N
  readonly #channel: TracingChannel<unknown, object>
  /** The async context of `start`. Set once the trace has started. */
  #inside: AsyncResource | undefined
  /** Whether it has its outcome. */
  isSettled = false

  constructor({ store, owner }: Runtime, name: N, subject: TraceSubject) {
    const { lock, kind, claimId, token } = subject
    this.#name = name
    this.#channel = traceChannels[name]
    this.context = withJson({
      lock,
      kind,
      store: store.name,
      clientId: owner.clientId,
      claimId,
      ...(token === undefined ? {} : { token }),
    })
  }

  /**
   * Runs the part of the call that sends its request, with what subscribers have bound to `start`.
   */
  enter<T>(work: () => T): T {
    if (this.#inside) return this.#inside.runInAsyncScope(work)
    const { start, end } = this.#channel
    const begin = (): T => {
      // `AsyncLocalStorage.snapshot` takes many times as long.
      this.#inside = new AsyncResource('Holdfast', { requireManualDestroy: true })
      return work()
    }
    try {
      return startWithoutValue((inside) => {
        const scoped = (): T => insideScopes(this.#name, this.context, inside)
        return start.runStores(this.context, scoped, undefined)
      }, begin)
    } finally {
      this.noteSent()
      detached(() => end.publish(this.context))
    }
  }

  /** Starts a call that may need no request. */
  start(): void {
    if (!this.#inside) this.enter(() => undefined)
  }

  /** Called when the request has left, or waits in a queue of this process. */
  protected noteSent(): void {}

  /** Traces a call until its promise settles. */
  async follow<T>(
    call: () => T | PromiseLike<T>,
    settled: (value: T) => void,
    failed: (error: unknown) => void,
  ): Promise<T> {
    try {
      const value = await this.enter(call)
      settled(value)
      return value
    } catch (error) {
      failed(error)
      throw error
    }
  }

  settle(outcome: OutcomeOf<N>): void {
    if (this.#begin(outcome)) this.#publishEnd()
  }

  fail(outcome: OutcomeOf<N>, error: unknown): void {
    if (!this.#begin(outcome)) return
    this.context.error = error
    detached(() => this.#channel.error.publish(this.context))
    this.#publishEnd()
  }

  /** Notes the outcome. Returns false if there was one already. */
  #begin(outcome: OutcomeOf<N>): boolean {
    if (this.isSettled) return false
    this.isSettled = true
    this.start()
    this.context.outcome = outcome
    return true
  }

  #publishEnd(): void {
    const { asyncStart, asyncEnd } = this.#channel
    detached(() => {
      asyncStart.publish(this.context)
      asyncEnd.publish(this.context)
    })
  }
}

/** Returns the callback under a lease, traced if the channel has subscribers. */
export function tracedRun<T>(
  runtime: Runtime,
  { name: lock, kind, claimId, token }: TracedLease,
  work: () => T | PromiseLike<T>,
): () => T | PromiseLike<T> {
  if (!isTraced.run()) return work
  return () => {
    const trace = new CallTrace(runtime, 'run', { lock, kind, claimId, token })
    return trace.follow(
      async () => work(),
      () => trace.settle('completed'),
      (error) => trace.fail('error', error),
    )
  }
}

/** Traces the release of a lease. */
export function traceRelease(
  runtime: Runtime,
  { name: lock, kind, claimId, token }: TracedLease,
  release: () => 'released' | 'lost' | Promise<'released' | 'lost'>,
): Promise<'released' | 'lost'> {
  const trace = new CallTrace(runtime, 'release', { lock, kind, claimId, token })
  const outcome = trace.follow(
    release,
    (answer) => trace.settle(answer),
    (error) => trace.fail('error', error),
  )
  return outcome.catch(rejectForCallers)
}

/** A lease, as far as its traces show it. */
interface TracedLease {
  readonly name: string
  readonly kind: LockKind
  readonly claimId: string
  readonly token: bigint
}
