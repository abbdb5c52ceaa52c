/**
 * The slot of a run, from the pattern of its job. Callbacks of croner and `cron` learn only when
 * they were called, some milliseconds later.
 */
import { LockUsageError } from '../errors.js'
import { describe } from '../options/describe.js'

/** What `holdfast/cron` uses of a job of croner, version 10 or later. */
export interface CronerJob {
  readonly name?: string | undefined
  readonly options: { readonly interval?: number | undefined }
  getOnce(): Date | null
  previousRuns(count: number, reference: Date): Date[]
}

/** What `holdfast/cron` uses of a `CronJob` of `cron`, which `@nestjs/schedule` has as well. */
export interface CronJob {
  readonly name?: string | undefined
  readonly cronTime: {
    readonly realDate: boolean
    readonly source: unknown
    readonly timeZone?: string | undefined
    readonly utcOffset?: number | undefined
    getNextDateFrom(start: Date, timeZone?: string): { toMillis(): number }
  }
}

/** Patterns name seconds. */
const SECOND_MS = 1_000
/** How far back to look for a run that was due: `cron` looks as far ahead, for 29 February. */
const LONGEST_MS = 9 * 366 * 86_400_000

/**
 * Returns the time at which the current run of a job was due. Call it before anything else in the
 * callback: later the next run may be due.
 * @throws LockUsageError when the job has no slots that replicas share, or is of another library.
 */
export function slotOf(job: CronerJob | CronJob): Date {
  return new Date(slotAt(job, Date.now()))
}

/** Returns the slot that was due last at a time, in milliseconds. Throws as `slotOf` does. */
export function slotAt(job: CronerJob | CronJob, nowMs: number): number {
  if (isCronJob(job)) return slotOfCronJob(job, nowMs)
  if (isCroner(job)) return slotOfCroner(job, nowMs)
  throw new LockUsageError(
    `slotOf takes a job of croner or of cron, not ${describe(job)}. The callbacks of node-schedule and node-cron get their slot as an argument.`,
  )
}

/** Whether a value is a job of croner, of any version. */
export function isCroner(value: unknown): value is CronerJob {
  const job = (value ?? {}) as Partial<Record<'getPattern' | 'msToNext', unknown>>
  return typeof job.getPattern === 'function' && typeof job.msToNext === 'function'
}

export function isCronJob(value: unknown): value is CronJob {
  const { cronTime } = (value ?? {}) as Partial<CronJob>
  return typeof cronTime?.getNextDateFrom === 'function'
}

function slotOfCroner(job: CronerJob, nowMs: number): number {
  if (typeof job.previousRuns !== 'function' || typeof job.getOnce !== 'function')
    throw new LockUsageError('holdfast/cron needs croner 10 or later. Update croner.')
  if ((job.options.interval ?? 0) > 1) {
    throw new LockUsageError(
      'A job of croner with an interval counts from the last run of its own process, so replicas share no slots. Write the period into the pattern.',
    )
  }
  const once = job.getOnce()
  if (once) return once.getTime()
  // It looks before the reference, and a run may be called in the millisecond in which it is due.
  const [slot] = job.previousRuns(1, new Date(nowMs + 1))
  return slot?.getTime() ?? nowMs
}

function slotOfCronJob({ cronTime }: CronJob, nowMs: number): number {
  const { realDate, source, timeZone, utcOffset } = cronTime
  if (realDate) return (source as { toMillis(): number }).toMillis()
  const zone = timeZone ?? (utcOffset === undefined ? undefined : zoneOf(utcOffset))
  return latestDue(nowMs, (startMs) => {
    try {
      return cronTime.getNextDateFrom(new Date(startMs), zone).toMillis()
    } catch {
      // It found none within eight years.
      return Infinity
    }
  })
}

/** Returns the name of a time zone, as `cron` makes it of an offset in minutes. */
function zoneOf(utcOffset: number): string {
  const minutes = Math.abs(utcOffset)
  const [hours, rest] = [Math.trunc(minutes / 60), minutes % 60]
  const clock = [hours, rest].map((part) => String(part).padStart(2, '0')).join(':')
  return `UTC${utcOffset < 0 ? '-' : '+'}${clock}`
}

/**
 * Returns the latest time at which a run was due; `nowMs` when there was none. `cron` has no
 * function for it.
 * @param nextAfter returns the first time after the second of a time
 */
function latestDue(nowMs: number, nextAfter: (startMs: number) => number): number {
  let [earlyMs, lateMs] = [nowMs - SECOND_MS, nowMs]
  while (nextAfter(earlyMs) > nowMs) {
    if (nowMs - earlyMs > LONGEST_MS) return nowMs
    ;[earlyMs, lateMs] = [nowMs - 2 * (nowMs - earlyMs), earlyMs]
  }
  // The latest one comes after `earlyMs`, and none after `lateMs`.
  while (lateMs - earlyMs > SECOND_MS) {
    const middleMs = Math.floor((earlyMs + lateMs) / 2)
    if (nextAfter(middleMs) > nowMs) lateMs = middleMs
    else earlyMs = middleMs
  }
  return nextAfter(earlyMs)
}
