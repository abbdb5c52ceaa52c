/**
 * What one `createLocks` call makes: the parts of the lease runtime, put together. Decides nothing
 * itself.
 */
import { systemClock, systemRandom } from '../clock/clock.js'
import { LinkedSet } from '../collections/linked-set.js'
import type { Store } from '../store/contract.js'
import { RetryRounds } from './wait/retry-rounds.js'
import { CohortQueue } from './local-queue/cohort-queue.js'
import { StoreOrderQueue } from './local-queue/store-order-queue.js'
import { Heartbeats } from './wait/heartbeats.js'
import {
  checkBoolean,
  checkDeadlockCheck,
  checkLabel,
  checkWait,
  clientSettings,
  type LockSettings,
  type LocksOptions,
} from '../options/lock-options.js'
import { checkNoHelper, helperSettings } from '../options/helper-options.js'
import { OpenReleases } from './release/unawaited-releases.js'
import { ReleasePauses } from './release/release-pauses.js'
import { OUTAGE_LIMIT_MS } from './wait/outage.js'
import { QueueRegistry } from './local-queue/queue-registry.js'
import type * as helperThread from './renew/helper/helper-thread.js'
import { RenewalScheduler } from './renew/renewal-scheduler.js'
import { Runtime } from './runtime/runtime.js'
import { announceSelfWaits } from './wait/self-waits.js'
import { NoHandOffQueue } from './local-queue/no-hand-off-queue.js'
import type { OpenLease, Services } from './services.js'
import type { WaitLimits } from './wait/caller-wait.js'
import { WaiterLimit } from './wait/waiter-limit.js'
import { Withdrawals } from './release/release-until-answered.js'

export class Client implements Services {
  // The constructor sets these fields. A field that is only declared takes no code.
  declare readonly settings: LockSettings
  /** Whether leases remember where they were acquired. */
  declare readonly tracesAcquires: boolean
  /** The limits of a caller without options. */
  declare readonly waitLimits: WaitLimits
  declare readonly runtime: Runtime
  declare readonly heartbeats: Heartbeats
  declare readonly retries: RetryRounds
  declare readonly withdrawals: Withdrawals
  declare readonly releases: OpenReleases
  declare readonly pauses: ReleasePauses | undefined
  declare readonly renewals: RenewalScheduler
  readonly leases = new LinkedSet<OpenLease>()
  declare readonly waiters: WaiterLimit
  declare readonly cohorts: QueueRegistry<CohortQueue>
  declare readonly fifoQueues: QueueRegistry<StoreOrderQueue>
  declare readonly noHandOffQueues: Readonly<
    Record<'renewed' | 'fixed', QueueRegistry<NoHandOffQueue>>
  >

  /** @throws LockUsageError when an option makes no sense. */
  constructor(store: Store, options: LocksOptions) {
    this.settings = clientSettings(options, store)
    this.waitLimits = {
      waitMs: checkWait(options.waitMs, Infinity),
      outageMs: options.waitMs === undefined ? OUTAGE_LIMIT_MS : Infinity,
      signal: undefined,
    }
    const { clock = store.clock ?? systemClock, random = systemRandom } = options
    const { label, traceAcquires = false } = options
    checkBoolean('traceAcquires', traceAcquires)
    this.tracesAcquires = traceAcquires
    this.runtime = new Runtime(store, {
      clock,
      random,
      label: label === undefined ? undefined : checkLabel(label),
      deadlockCheckMs: checkDeadlockCheck(options.deadlockCheckMs),
    })
    this.runtime.waits.onLong = (waits, nowMs) => announceSelfWaits(this, waits, nowMs)
    this.waiters = new WaiterLimit(store.name)
    this.heartbeats = new Heartbeats(this.runtime)
    this.retries = new RetryRounds(this.runtime)
    this.withdrawals = new Withdrawals(this.runtime)
    this.releases = new OpenReleases(store, clock)
    const { fair, pollRangeMs } = store.traits
    this.pauses = fair ? undefined : new ReleasePauses(clock, random, pollRangeMs[0])
    this.renewals = new RenewalScheduler(this.runtime, this.withdrawals)
    if (options.renewFrom === undefined) checkNoHelper(options)
    else {
      const { startHelper } = require('./renew/helper/helper-thread.js') as typeof helperThread
      const settings = helperSettings(store, options)
      this.renewals.helper = startHelper(this.runtime, this.renewals, settings)
    }
    this.cohorts = new QueueRegistry((template) => new CohortQueue(this, template))
    this.fifoQueues = new QueueRegistry((template) => new StoreOrderQueue(this, template))
    this.noHandOffQueues = {
      renewed: new QueueRegistry((template) => new NoHandOffQueue(this, template, true)),
      fixed: new QueueRegistry((template) => new NoHandOffQueue(this, template, false)),
    }
  }
}
