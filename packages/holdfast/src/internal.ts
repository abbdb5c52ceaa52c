/**
 * `holdfast/internal`: what this project's own packages and tests use beyond the public entries.
 * No public API, and no promise: any version may change or remove any of it.
 */
/** The grant rule, for the simulator's servers and the tests of rules. */
export * as grantRule from './store/grant-rule.js'
export type { LockState, RuleStep } from './store/grant-rule.js'
export { withTimeout } from './clock/with-timeout.js'

/** A client and the two sides of a helper that renews, for the simulator's threads. */
export { Client } from './lease/client.js'
export { locksOf } from './locks/create.js'
export { LateRenewals } from './lease/renew/helper/late-renewals.js'
export { RenewalHelper, type HelperThread } from './lease/renew/helper/renewal-helper.js'
export type { SharedLease, StolenLease } from './lease/renew/helper/messages.js'
export { SharedBoard } from './lease/renew/helper/shared-leases.js'

/** A page of the locks of a store, for what has no client. */
export { inspectPage } from './locks/inspect-locks.js'

/** Checks of options, for the packages of the integrations. */
export { checkKeys, type KnownKeys } from './options/known-keys.js'
export { checkDuration } from './options/lock-options.js'
export { checkWhole } from './options/whole-number.js'

/** The queue recipe of etcd and ZooKeeper, and its port, for the simulator's services. */
export { CoordinationStore } from './stores/coordination/store.js'
export type * from './stores/coordination/connection/service.js'
export { elapsedMs, momentOf, type Moment } from './stores/coordination/connection/moment.js'
export type { EntryData } from './stores/coordination/wire.js'
export { QueueView } from './stores/coordination/queue/queue-view.js'
export { mayGo, positionOf } from './stores/coordination/queue/queue-rule.js'
export { ClaimsInDoubt } from './in-doubt/claims-in-doubt.js'

/** The parts of the command line, of which `holdfast lab` is made. */
export { LAB_ABOUT, LAB_OPTIONS, LAB_TOPICS } from './cli/args/lab-options.js'
export { parseDuration } from './cli/args/duration.js'
export { renderHelp } from './cli/args/help.js'
export { operandsOf } from './cli/args/name.js'
export { parseOptions, type OptionTable, type OptionValues } from './cli/args/options.js'
export { nearest } from './options/nearest-word.js'
export { CliError, ConfigError, UsageError } from './cli/cli-error.js'
export type { Command } from './cli/commands/command.js'
export { EXIT } from './cli/exit-codes.js'
export { fold } from './cli/output/fold.js'
export { printJson } from './cli/output/json.js'
export { cutTo, leftOutColumns, renderTable, type Column } from './cli/output/table.js'
export { paintFor, widthOf } from './cli/output/terminal.js'
