/** `holdfast`: distributed locks with one API over many stores. */
export { createLocks } from './locks/create.js'
export type { Locks } from './locks/create.js'
export type { CloseOptions } from './locks/close.js'
export type { TickOptions, TickResult } from './locks/once-per-tick.js'
export type { Lockable } from './locks/lock.js'
export type { InspectOptions, LocksPage } from './locks/inspect-locks.js'
export type { LockState, PingOptions } from './locks/look-up.js'
export type { StealLockOptions } from './locks/steal.js'
export type { Mutex } from './locks/mutex.js'
export type { ReadWriteLock } from './locks/read-write-lock.js'
export type { Semaphore, SemaphoreOptions, WeightOptions } from './locks/semaphore.js'
export type { MultiLease } from './locks/multi-lease.js'
export type { MultiLock } from './locks/multi.js'
export type { StripedLock, StripedOptions } from './locks/striped.js'
export type { Election, ElectionEvents, LeadOptions } from './locks/election.js'
export type { Leadership } from './locks/observe.js'
export type { Dialect, SqlSession, TransactionalDatabase } from './transaction/database.js'
export type { SingleFlight, SingleFlightOptions } from './locks/single-flight.js'
export type { Lease, RenewOptions, WriteLease } from './lease/hold/lease.js'
export type { LeaseNote } from './lease/hold/lease-note.js'
export type {
  AcquireOptions,
  Fairness,
  LeaseTerms,
  LockOptions,
  LocksOptions,
  RunOptions,
  WaitOptions,
} from './options/lock-options.js'
export { channelName } from './lease/runtime/events.js'
export { logLockEvents } from './lease/runtime/log-events.js'
export type { LockLogger, LogLevel, LogOptions } from './lease/runtime/log-events.js'
export { onLockEvent } from './lease/runtime/listen-to-events.js'
export type { LockEvent, LockEventName, LockEvents, NoLeaseEvent } from './lease/runtime/events.js'
export type { RequestTrace } from './store/request-channel.js'
export type {
  AcquireOutcome,
  LockTrace,
  LockTraceName,
  LockTraces,
} from './lease/runtime/traces.js'
export { findDeadlocks } from './lease/deadlock/find-deadlocks.js'
export type { Deadlock } from './lease/deadlock/find-deadlocks.js'
export {
  InternalLockError,
  isLockError,
  LockError,
  LockLostError,
  LockQueueFullError,
  LockTimeoutError,
  LockUsageError,
  StoreUnavailableError,
  UnsupportedLockError,
} from './errors.js'
export { StaleTokenError, VersionConflictError } from './fence/errors.js'
export { LeaseAtRiskError } from './lease/hold/at-risk-error.js'
export { DeadlockError, type DeadlockStep } from './lease/deadlock/deadlock-error.js'
export type { LockErrorCode, LockHolder, LossReason } from './errors.js'
export { systemClock, systemRandom } from './clock/clock.js'
export type { Clock, Random, Timer } from './clock/clock.js'
export type {
  HolderInfo,
  LockInfo,
  LockKind,
  Owner,
  StealResult,
  Store,
  WaiterInfo,
  WaitNote,
} from './store/contract.js'
