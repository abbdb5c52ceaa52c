/**
 * Frames: which locks the current async context holds.
 *
 * Node has no threads, so the owner of a lock is the async context. `run` opens a frame, and frames
 * form a stack that the context carries along. A frame dies with its callback: a promise that
 * outlives the callback finds nothing to re-enter.
 */
import type { LockKind } from '../../store/contract.js'
import { contextValue, hasContexts, runWithValue } from '../../async/async-context.js'
import type { OpenCalls } from '../../async/keep-alive.js'
import type { OuterLease } from '../deadlock/wait-under-leases.js'
import type { CallerWait } from '../wait/caller-wait.js'

/** A lease, as its frames see it. */
export interface Enterable extends OuterLease {
  readonly kind: LockKind
  /** Whether it has the whole capacity. */
  readonly exclusive: boolean
  readonly held: boolean
  /** Returns whether it ended against the holder's will. Asks the store when clocks differ. */
  endedEarly(): false | Promise<boolean>
  /** @throws LockLostError when it has ended. */
  assertHeld(): void
  /** The callbacks of its client. */
  readonly runs?: OpenCalls
  /** Notes that a callback runs under it. Returns the number of the callback, for `endCallback`. */
  beginCallback(): number
  /** Notes that a callback has settled. */
  endCallback(callback: number): void
}

/** A nested run that waits until its siblings leave the frame. */
export interface NestedWait {
  readonly wait: CallerWait<void>
  readonly exclusive: boolean
}

export class Frame {
  /** The client that made the lease. */
  readonly client: object
  readonly lease: Enterable
  /** Opened by a reader, under any lease: a nested writer would be an upgrade. */
  readonly reads: boolean
  outer: Frame | undefined
  alive = true
  /** The number of its callback. */
  callback = 0
  /** The nested runs that run inside this frame, where the frame has the whole lock. */
  readonly inside = { readers: 0, writer: false }
  /** Siblings that wait for their turn, in the order of the calls. */
  readonly queue: NestedWait[] = []

  constructor(client: object, lease: Enterable, reads: boolean, outer: Frame | undefined) {
    this.client = client
    this.lease = lease
    this.reads = reads
    this.outer = outer
  }

  /** Whether this frame is alive and of a lock of this name. */
  isOf(client: object, lock: string): boolean {
    return this.alive && this.client === client && this.lease.name === lock
  }

  /** Whether this frame holds a lock of this name. */
  holds(client: object, lock: string): boolean {
    return this.isOf(client, lock) && this.lease.open
  }
}

/** Returns the innermost frame of the current context, alive or not. */
export function currentFrame(): Frame | undefined {
  if (!hasContexts) return undefined
  const value = contextValue()
  return value instanceof Frame ? value : undefined
}

/** Returns the innermost live frame of the lock, even if its lease is lost or released. */
export function enclosingFrame(client: object, lock: string): Frame | undefined {
  let frame = currentFrame()
  while (frame && !frame.isOf(client, lock)) frame = frame.outer
  return frame
}

/** Returns the innermost live frame that holds the lock. */
export function frameOf(client: object, lock: string): Frame | undefined {
  let frame = currentFrame()
  while (frame && !frame.holds(client, lock)) frame = frame.outer
  return frame
}

/**
 * Runs `work` in a new frame of a lease.
 * @param reads whether `work` runs as a reader
 * @throws LockLostError when the lease has ended; `work` does not start.
 */
export async function runUnder<T>(
  client: object,
  lease: Enterable,
  work: () => T | PromiseLike<T>,
  reads = !lease.exclusive,
): Promise<T> {
  if (!lease.held) await settleDoubt(lease)
  const frame = openFrame(client, lease, reads)
  try {
    return await startIn(frame, work)
  } finally {
    closeFrame(frame)
  }
}

/**
 * Asks the store about a lease that is not held by the clocks, which may merely disagree.
 * @throws LockLostError when it has ended.
 */
export async function settleDoubt(lease: Enterable): Promise<void> {
  await lease.endedEarly()
  lease.assertHeld()
}

/**
 * Makes a frame for a callback. It starts in the tick in which the lease is seen to be held, since
 * the process may have been stopped after the grant.
 */
export function openFrame(client: object, lease: Enterable, reads: boolean): Frame {
  const outer = pruneDeadFrames(currentFrame())
  // `lease.run` of a writer's lease inside of a reader still runs inside of a reader.
  const isInsideReader = frameOf(client, lease.name)?.reads ?? false
  const frame = new Frame(client, lease, reads || isInsideReader, outer)
  frame.callback = lease.beginCallback()
  lease.runs?.begin()
  return frame
}

/** Starts the callback of a frame. The caller closes the frame when that has settled. */
export function startIn<T>(frame: Frame, work: () => T | PromiseLike<T>): T | PromiseLike<T> {
  return runWithValue(frame, () => beginIfLazy(work()))
}

/**
 * Begins the work of a result that waits for a call of its `then`, such as a query. The `await` of
 * the caller would call it outside of the frame.
 */
function beginIfLazy<T>(result: T | PromiseLike<T>): T | PromiseLike<T> {
  if ((typeof result !== 'object' && typeof result !== 'function') || result === null) return result
  const isPromise = result instanceof Promise && result.constructor === Promise
  // oxlint-disable-next-line typescript/unbound-method -- compared only
  return isPromise && result.then === Promise.prototype.then ? result : resolved(result)
}

async function resolved<T>(result: T | PromiseLike<T>): Promise<T> {
  return result
}

/** Without this, work that starts its next run out of the last one would keep all its frames. */
function pruneDeadFrames(frame: Frame | undefined): Frame | undefined {
  const first = nextLiveFrame(frame)
  for (let frame = first; frame; frame = frame.outer) frame.outer = nextLiveFrame(frame.outer)
  return first
}

function nextLiveFrame(from: Frame | undefined): Frame | undefined {
  let frame = from
  while (frame && !frame.alive) frame = frame.outer
  return frame
}

/** Ends a frame. Siblings that still wait for their turn go on, and find it dead. */
export function closeFrame(frame: Frame): void {
  const { lease } = frame
  frame.alive = false
  lease.runs?.end()
  lease.endCallback(frame.callback)
  if (frame.queue.length === 0) return
  for (const { wait, exclusive } of frame.queue.splice(0)) {
    enterFrame(frame, exclusive)
    wait.serve()
  }
}

/** Counts a nested run that starts inside a frame. */
export function enterFrame({ inside }: Frame, exclusive: boolean): void {
  if (exclusive) inside.writer = true
  else inside.readers += 1
}
