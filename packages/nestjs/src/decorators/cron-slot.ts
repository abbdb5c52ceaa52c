/** When the run of a method with `@Cron` was due: the slot, which is the same on all replicas. */
import type { ModuleRef } from '@nestjs/core'
import { slotOf, type CronJob } from 'holdfast/cron'

/** Under this key `@Cron` keeps its arguments on the function of a method. */
const CRON_OPTIONS = 'SCHEDULE_CRON_OPTIONS'

interface Zone {
  readonly timeZone?: string | undefined
  readonly utcOffset?: number | undefined
}

interface CronOptions extends Zone {
  readonly name?: string
  readonly cronTime: unknown
}

/**
 * Returns the slot of the current run. There is none without `@Cron`, or without the schedule of
 * this application.
 * @param method the function of the instance, which has the metadata of all decorators
 */
export async function cronSlot(
  moduleRef: ModuleRef | undefined,
  method: unknown,
): Promise<Date | undefined> {
  if (typeof method !== 'function' || moduleRef === undefined) return undefined
  const options = Reflect.getMetadata(CRON_OPTIONS, method) as CronOptions | undefined
  if (options === undefined) return undefined
  const job = jobOf(moduleRef, options) ?? (await startingJob(moduleRef, options))
  return job && slotOf(job)
}

/** A run that is due while its job starts comes before Nest lists the job, in the same tick. */
async function startingJob(
  moduleRef: ModuleRef,
  options: CronOptions,
): Promise<CronJob | undefined> {
  await Promise.resolve()
  return jobOf(moduleRef, options)
}

/** Of jobs without a name, any one with the same schedule has the same slots. */
function jobOf(moduleRef: ModuleRef, options: CronOptions): CronJob | undefined {
  const jobs = jobsOf(moduleRef)
  if (options.name !== undefined) return jobs.get(options.name)
  return [...jobs.values()].find((job) => isScheduledBy(job, options))
}

function jobsOf(moduleRef: ModuleRef): ReadonlyMap<string, CronJob> {
  // Loaded late, since only applications with schedules have the package.
  const { SchedulerRegistry } = require('@nestjs/schedule') as typeof import('@nestjs/schedule')
  try {
    return moduleRef.get(SchedulerRegistry, { strict: false }).getCronJobs()
  } catch {
    // A test of the class alone has no ScheduleModule.
    return new Map()
  }
}

function isScheduledBy({ cronTime }: CronJob, options: CronOptions): boolean {
  if (cronTime.realDate) return Number(cronTime.source) === Number(options.cronTime)
  return cronTime.source === options.cronTime && zoneOf(cronTime) === zoneOf(options)
}

/** Without a zone, `cron` takes that of the system. */
function zoneOf({ timeZone, utcOffset }: Zone): string | number {
  return timeZone ?? utcOffset ?? Intl.DateTimeFormat().resolvedOptions().timeZone
}
