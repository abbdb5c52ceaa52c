/** What the call of a callback says about its run, for each library. */
import { LockUsageError } from '../errors.js'
import { isCroner, isCronJob, slotAt } from './slot-of.js'

/** A run of a job. */
export interface DueRun {
  /** The name of the job, if all replicas give it the same one. */
  readonly name: string | undefined
  readonly slotMs: number
  /** How the library gives a job a name. */
  readonly naming: string
}

/** What node-schedule calls a callback on. */
interface ScheduledJob {
  readonly name: string
  readonly pendingInvocations: readonly unknown[]
  nextInvocation(): unknown
}

/** What node-cron calls a callback with. */
interface TaskContext {
  readonly date: Date
  readonly dateLocalIso: string
  readonly task?: { readonly id: string; readonly name?: string }
}

/** The name that node-schedule makes for a job without one. */
const ANONYMOUS = /^<Anonymous Job \d+ /

/**
 * Returns the run for which a library called a callback.
 * @param self the `this` of the call
 * @throws LockUsageError when no library did, or replicas share no slots.
 */
export function dueRunOf(self: unknown, [first]: readonly unknown[], nowMs: number): DueRun {
  if (isCroner(first)) {
    const naming = "new Cron(pattern, { name: 'report' }, …)"
    return { name: first.name, slotMs: slotAt(first, nowMs), naming }
  }
  if (isCronJob(self)) {
    const naming = "CronJob.from({ name: 'report', … })"
    return { name: self.name, slotMs: slotAt(self, nowMs), naming }
  }
  if (isScheduledJob(self)) {
    const name = ANONYMOUS.test(self.name) ? undefined : self.name
    // A run by hand, `job.invoke()`, was due at no other time.
    const slotMs = first instanceof Date ? first.getTime() : nowMs
    return { name, slotMs, naming: "scheduleJob('report', rule, …)" }
  }
  if (isTaskContext(first)) {
    const { date, task } = first
    // Without a name it is the random id of the task.
    const name = task?.name === task?.id ? undefined : task?.name
    return { name, slotMs: date.getTime(), naming: "schedule(pattern, …, { name: 'report' })" }
  }
  throw new LockUsageError(
    'oncePerTick of holdfast/cron does not see the job that called it. Hand what it returns to croner, cron, node-schedule or node-cron, not a function around it. ' +
      'A CronJob with a context hides its job: call locks.oncePerTick(name, work, { slot: slotOf(job), atLeastMs }) there.',
  )
}

function isScheduledJob(value: unknown): value is ScheduledJob {
  const job = (value ?? {}) as Partial<ScheduledJob>
  return typeof job.nextInvocation === 'function' && Array.isArray(job.pendingInvocations)
}

function isTaskContext(value: unknown): value is TaskContext {
  const context = (value ?? {}) as Partial<TaskContext>
  return context.date instanceof Date && typeof context.dateLocalIso === 'string'
}
