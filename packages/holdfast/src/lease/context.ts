/**
 * Re-entrancy: which locks the current async context holds.
 *
 * Node has no threads, so the owner of a lock is the async context. `run` opens a frame; frames
 * form a stack that AsyncLocalStorage carries along. A nested run in the innermost frame re-enters;
 * siblings that start side by side from one frame are not all the innermost, so they take turns. A
 * frame dies with its callback: a promise that outlives it finds nothing to re-enter.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { LockUsageError } from '../errors.js'
import type { ClaimTemplate, Client } from './client.js'
import type { HeldLease } from './lease.js'
import { Wait, type WaitLimits } from './wait.js'

export interface Frame {
  readonly client: Client
  readonly lease: HeldLease
  outer: Frame | undefined
  /** Opened by a reader, under whatever lease: a nested writer would be an upgrade. */
  readonly reads: boolean
  alive: boolean
  /** The nested runs at work inside this frame, where the frame has the whole lock. */
  readonly inside: { readers: number; writer: boolean }
  /** Siblings that wait for their turn, in the order of the calls. */
  readonly queue: Turn[]
}

interface Turn {
  readonly wait: Wait
  readonly exclusive: boolean
}

const contexts = new AsyncLocalStorage<Frame | undefined>()
// AsyncLocalStorage slows every promise of the process on Node 20, so it stays untouched until the
// first frame.
let used = false

const UPGRADE_ADVICE =
  'A reader cannot become a writer (two would deadlock); take the write lock first'

/**
 * Runs `work` in a fresh context, which holds nothing: what it acquires waits like anybody else's.
 */
export function detached<T>(work: () => T): T {
  return used ? contexts.run(undefined, work) : work()
}

/**
 * The same function, which runs in the context of whoever binds it, but for what that holds. Who is
 * called back out of a timer or a connection that many share would find itself in the context of
 * whichever of them set it up.
 */
export function bindContext<A extends unknown[]>(work: (...args: A) => void): (...args: A) => void {
  // `AsyncResource.bind` takes many times as long.
  const here = new AsyncResource('Holdfast', { requireManualDestroy: true })
  return (...args) => here.runInAsyncScope(() => detached(() => work(...args)))
}

/**
 * Runs `work` outside of anybody's context: for what serves many and outlasts the one who happened
 * to begin it.
 */
export const outsideContext: <T>(work: () => T) => T = AsyncLocalStorage.snapshot()

/**
 * Runs `work` in a new frame of a lease. `work` starts in the tick in which the lease is seen to be
 * held, since the process may have been stopped after the grant.
 * @throws LockLostError when the lease has ended; `work` does not start.
 */
export function runUnder<T>(
  client: Client,
  lease: HeldLease,
  work: () => T | PromiseLike<T>,
  reads = !lease.exclusive,
): Promise<T> {
  return lease.held
    ? startUnder(client, lease, work, reads)
    : startInDoubt(client, lease, work, reads)
}

/** The clocks may merely disagree. The store knows, so the client asks it. */
async function startInDoubt<T>(
  client: Client,
  lease: HeldLease,
  work: () => T | PromiseLike<T>,
  reads: boolean,
): Promise<T> {
  await lease.endedEarly()
  lease.assertHeld()
  return startUnder(client, lease, work, reads)
}

function startUnder<T>(
  client: Client,
  lease: HeldLease,
  work: () => T | PromiseLike<T>,
  reads: boolean,
): Promise<T> {
  used = true
  const outer = pruneDeadFrames(contexts.getStore())
  const frame: Frame = {
    client,
    lease,
    outer,
    // `lease.run` of a writer's lease, inside of a reader, still runs inside of a reader.
    reads: reads || (innermost(client, lease.name)?.reads ?? false),
    alive: true,
    inside: { readers: 0, writer: false },
    queue: [],
  }
  const callback = contexts.run(frame, async () => work())
  lease.track(callback)
  return callback.finally(() => closeFrame(frame))
}

/**
 * The frame that a nested run of this shape may re-enter; undefined when it has to acquire.
 * @throws LockUsageError when acquiring would wait for itself for ever.
 */
export function frameToReenter(
  client: Client,
  template: ClaimTemplate,
  reentrant: boolean,
): Frame | undefined {
  if (!used) return undefined
  const frame = innermost(client, template.lock)
  if (!frame || isAnotherLock(frame, template)) return undefined
  const isWriter = template.weight === template.capacity
  if (template.kind === 'semaphore' && !frame.lease.exclusive) {
    assertPermitsLeft(client, template)
    return undefined
  }
  if (template.kind !== 'semaphore' && !isWriter) return frame
  if (isReader(frame)) throw selfDeadlock(template, UPGRADE_ADVICE)
  if (reentrant) return frame
  throw selfDeadlock(template, 'Set reentrant: true to re-enter it')
}

/**
 * As `frameToReenter`, for an `acquire`, which cannot re-enter: it refuses what could never be
 * granted.
 */
export function refuseSelfDeadlock(client: Client, template: ClaimTemplate): void {
  if (!used) return
  const frame = innermost(client, template.lock)
  if (!frame || isAnotherLock(frame, template)) return
  if (template.kind === 'semaphore') assertPermitsLeft(client, template)
  else if (template.weight === template.capacity) {
    throw selfDeadlock(
      template,
      isReader(frame) ? UPGRADE_ADVICE : 'Use run, which can re-enter with reentrant: true',
    )
  } else {
    // A writer may come to wait at any time, and a second reader of this context would wait behind
    // it for the first one.
    throw selfDeadlock(template, 'Use run, with which readers re-enter')
  }
}

/** A wait for a claim of this shape, which began at some time by the monotonic clock. */
export interface BegunWait {
  readonly template: ClaimTemplate
  readonly limits: WaitLimits
  readonly startedMs: number
}

/**
 * Runs `work` inside a frame that is there already. Resolves to undefined if the frame died before
 * its turn came.
 *
 * Readers share a frame. Inside of a writer they share it with each other, and take turns with
 * nested writers.
 */
export async function runInside<T>(
  frame: Frame,
  begun: BegunWait,
  work: (lease: HeldLease) => T | PromiseLike<T>,
): Promise<{ readonly value: T } | undefined> {
  const { kind, weight, capacity } = begun.template
  // Permits inside of a whole semaphore take turns, since nobody counts them there.
  const exclusive = kind === 'semaphore' || weight === capacity
  const ofReader = frame.reads
  if (!ofReader) await turn(frame, exclusive, begun)
  try {
    if (!frame.alive || !frame.lease.open) return undefined
    if (exclusive) refuseWriterUnderReader(frame, begun.template)
    const reads = ofReader || !exclusive
    return { value: await runUnder(frame.client, frame.lease, () => work(frame.lease), reads) }
  } finally {
    if (!ofReader) leaveTurn(frame, exclusive)
  }
}

/** The lease may have been downgraded while this one waited for its turn. */
function refuseWriterUnderReader(frame: Frame, template: ClaimTemplate): void {
  if (frame.lease.exclusive) return
  throw selfDeadlock(
    template,
    'Its writer has become a reader meanwhile; write before the downgrade',
  )
}

/**
 * Resolves when a nested run may start. Its turn is noted before that, so that no other one starts
 * in between.
 */
async function turn(
  frame: Frame,
  exclusive: boolean,
  { limits, startedMs, template }: BegunWait,
): Promise<void> {
  if (frame.queue.length === 0 && mayStart(frame, exclusive)) {
    enter(frame, exclusive)
    return
  }
  limits.signal?.throwIfAborted()
  const wait = new Wait(frame.client, template.lock, startedMs)
  const place: Turn = { wait, exclusive }
  wait.onGiveUp = () => {
    frame.queue.splice(frame.queue.indexOf(place), 1)
    serveTurns(frame)
  }
  frame.queue.push(place)
  wait.limit(limits)
  await wait.promise
}

function mayStart({ inside }: Frame, exclusive: boolean): boolean {
  return !inside.writer && (!exclusive || inside.readers === 0)
}

function enter({ inside }: Frame, exclusive: boolean): void {
  if (exclusive) inside.writer = true
  else inside.readers += 1
}

function leaveTurn(frame: Frame, exclusive: boolean): void {
  if (exclusive) frame.inside.writer = false
  else frame.inside.readers -= 1
  serveTurns(frame)
}

/** Nothing overtakes: a nested writer that waits stops the readers behind it. */
function serveTurns(frame: Frame): void {
  for (let [next] = frame.queue; next && mayStart(frame, next.exclusive); [next] = frame.queue) {
    frame.queue.shift()
    enter(frame, next.exclusive)
    next.wait.serve(frame.lease)
  }
}

/**
 * Work that begins its next run out of the last one would otherwise drag all the frames that it
 * ever had behind it.
 */
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

function closeFrame(frame: Frame): void {
  frame.alive = false
  for (const { wait, exclusive } of frame.queue.splice(0)) {
    enter(frame, exclusive)
    wait.serve(frame.lease)
  }
}

function innermost(client: Client, lock: string): Frame | undefined {
  for (let frame = contexts.getStore(); frame; frame = frame.outer) {
    if (frame.alive && frame.client === client && frame.lease.name === lock && frame.lease.open)
      return frame
  }
  return undefined
}

function isReader({ reads, lease }: Frame): boolean {
  return reads || !lease.exclusive
}

/** Of the same name, in use as something else: the store says so at once (`LOCK_MISMATCH`). */
function isAnotherLock({ lease }: Frame, { kind, capacity }: ClaimTemplate): boolean {
  return lease.capacity !== capacity || (lease.kind === 'semaphore') !== (kind === 'semaphore')
}

function assertPermitsLeft(client: Client, template: ClaimTemplate): void {
  const leases = new Set<HeldLease>()
  for (let frame = contexts.getStore(); frame; frame = frame.outer) {
    if (
      frame.alive &&
      frame.client === client &&
      frame.lease.name === template.lock &&
      frame.lease.open
    ) {
      leases.add(frame.lease)
    }
  }
  let held = 0
  for (const lease of leases) held += lease.weight
  if (held + template.weight > template.capacity) {
    throw selfDeadlock(
      template,
      `It holds ${held} of ${template.capacity} permits and asks for ${template.weight} more`,
    )
  }
}

function selfDeadlock(template: ClaimTemplate, advice: string): LockUsageError {
  return new LockUsageError(
    `This async context holds "${template.lock}" already and would wait for itself for ever. ` +
      `${advice}, or start unrelated work with locks.detached().`,
    { lock: template.lock },
  )
}
