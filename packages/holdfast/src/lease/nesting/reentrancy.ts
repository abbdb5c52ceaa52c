/**
 * Re-entrancy: what a nested run may do with the locks that its async context holds.
 *
 * A nested run in the innermost frame of a lock re-enters. Siblings that start side by side from
 * one frame are not all the innermost, so they take turns.
 */
import { LockUsageError } from '../../errors.js'
import { invariant } from '../../invariant.js'
import {
  currentFrame,
  enterFrame,
  frameOf,
  runUnder,
  type Enterable,
  type Frame,
} from './run-frames.js'
import type { NestedWait } from './run-frames.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import { CallerWait, type WaitLimits } from '../wait/caller-wait.js'

const UPGRADE_ADVICE =
  'A reader cannot become a writer (two would deadlock); take the write lock first'

/**
 * Returns the frame that a nested run may re-enter; undefined when it has to acquire.
 * @throws LockUsageError when the run would wait for itself forever.
 */
export function frameToReenter(
  services: Services,
  template: ClaimTemplate,
  reentrant: boolean,
): Frame | undefined {
  const frame = frameOf(services, template.lock)
  if (!frame || isAnotherLock(frame, template)) return undefined
  const isWriter = template.weight === template.capacity
  if (template.kind === 'semaphore' && !frame.lease.exclusive) {
    assertPermitsLeft(services, template)
    return undefined
  }
  if (template.kind !== 'semaphore' && !isWriter) return frame
  if (isReader(frame)) throw selfDeadlock(template, UPGRADE_ADVICE)
  if (reentrant) return frame
  throw selfDeadlock(template, 'Set reentrant: true to re-enter it')
}

/**
 * Refuses an `acquire` that could never be granted. An `acquire` cannot re-enter.
 * @throws LockUsageError when this async context holds the lock.
 */
export function refuseSelfDeadlock(services: Services, template: ClaimTemplate): void {
  const frame = frameOf(services, template.lock)
  if (!frame || isAnotherLock(frame, template)) return
  if (template.kind === 'semaphore') assertPermitsLeft(services, template)
  else if (template.weight === template.capacity) {
    throw selfDeadlock(
      template,
      isReader(frame) ? UPGRADE_ADVICE : 'Use run, which can re-enter with reentrant: true',
    )
  } else {
    // A writer may queue at any time. A second reader of this context would wait behind it, and the
    // writer for the first reader.
    throw selfDeadlock(template, 'Use run, with which readers re-enter')
  }
}

/** A nested run that waits since `startedMs` by the monotonic clock. */
export interface BegunWait {
  readonly template: ClaimTemplate
  readonly limits: WaitLimits
  readonly startedMs: number
}

/**
 * Runs `work` inside an existing frame. Resolves to undefined if the frame died before the turn of
 * `work` came.
 *
 * Readers share a frame. Inside of a writer they share it with each other, and take turns with
 * nested writers.
 */
export async function runInside<T>(
  services: Services,
  frame: Frame,
  begun: BegunWait,
  work: (lease: Enterable) => T | PromiseLike<T>,
): Promise<{ readonly value: T } | undefined> {
  const { kind, weight, capacity } = begun.template
  // Permits inside of a whole semaphore take turns, since no one counts them there.
  const exclusive = kind === 'semaphore' || weight === capacity
  const ofReader = frame.reads
  if (!ofReader) await waitForTurn(services, frame, exclusive, begun)
  try {
    if (!frame.alive || !frame.lease.open) return undefined
    if (exclusive) refuseWriterUnderReader(frame, begun.template)
    const reads = ofReader || !exclusive
    const { lease } = frame
    return { value: await runUnder(frame.client, lease, () => work(lease), reads) }
  } finally {
    if (!ofReader) leaveTurn(frame, exclusive)
  }
}

/** A writer may have been downgraded while a nested run waited for its turn. */
function refuseWriterUnderReader(frame: Frame, template: ClaimTemplate): void {
  if (frame.lease.exclusive) return
  throw selfDeadlock(
    template,
    'Its writer has become a reader meanwhile; write before the downgrade',
  )
}

/**
 * Resolves when a nested run may start. The run is counted before that, so that no sibling starts
 * in between.
 */
async function waitForTurn(
  services: Services,
  frame: Frame,
  exclusive: boolean,
  { limits, startedMs, template }: BegunWait,
): Promise<void> {
  if (frame.queue.length === 0 && mayStart(frame, exclusive)) {
    enterFrame(frame, exclusive)
    return
  }
  limits.signal?.throwIfAborted()
  const wait = new CallerWait<void>(services.runtime, template.lock, startedMs, limits)
  const place: NestedWait = { wait, exclusive }
  wait.onGiveUp = () => {
    frame.queue.splice(frame.queue.indexOf(place), 1)
    serveTurns(frame)
  }
  frame.queue.push(place)
  await wait.promise
}

function mayStart({ inside }: Frame, exclusive: boolean): boolean {
  return !inside.writer && (!exclusive || inside.readers === 0)
}

function leaveTurn(frame: Frame, exclusive: boolean): void {
  if (exclusive) frame.inside.writer = false
  else frame.inside.readers -= 1
  invariant(frame.inside.readers >= 0, 'a nested reader leaves once', frame.lease.name)
  serveTurns(frame)
}

/** Nothing overtakes: a nested writer that waits stops the readers behind it. */
function serveTurns(frame: Frame): void {
  for (let [next] = frame.queue; next && mayStart(frame, next.exclusive); [next] = frame.queue) {
    frame.queue.shift()
    enterFrame(frame, next.exclusive)
    next.wait.serve()
  }
}

function isReader({ reads, lease }: Frame): boolean {
  return reads || !lease.exclusive
}

/** Whether the name is in use as another kind. The store refuses that (`LOCK_MISMATCH`). */
function isAnotherLock({ lease }: Frame, { kind, capacity }: ClaimTemplate): boolean {
  return lease.capacity !== capacity || (lease.kind === 'semaphore') !== (kind === 'semaphore')
}

function assertPermitsLeft(services: Services, template: ClaimTemplate): void {
  const leases = new Set<Enterable>()
  for (let frame = currentFrame(); frame; frame = frame.outer) {
    if (frame.holds(services, template.lock)) leases.add(frame.lease)
  }
  let held = 0
  for (const lease of leases) held += lease.weight
  if (held + template.weight <= template.capacity) return
  throw selfDeadlock(
    template,
    `It holds ${held} of ${template.capacity} permits and asks for ${template.weight} more`,
  )
}

function selfDeadlock(template: ClaimTemplate, advice: string): LockUsageError {
  return new LockUsageError(
    `This async context holds "${template.lock}" already and would wait for itself forever. ` +
      `${advice}, or start unrelated work with locks.detached().`,
    { lock: template.lock },
  )
}
