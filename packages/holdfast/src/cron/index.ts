/** `holdfast/cron`: each run of a schedule on one of several replicas. */
export { oncePerTick, type CronTickOptions, type SkippedTick } from './once-per-tick.js'
export { runCoordinator, type CoordinatorOptions, type RunCoordinator } from './run-coordinator.js'
export { slotOf, type CronerJob, type CronJob } from './slot-of.js'
