/** How the work is shaped for each store. */
import { hasNewest } from '@holdfast/servers/newest'
import type { FaultKind } from '../faults/catalogue.js'
import { STORES, type StoreName } from '../stores.js'

export interface CommandLineShape {
  /** How many runs contend that faults of runs meet. */
  readonly contenders: number
  /** How many more there are, of runs inside of runs. */
  readonly nested: number
  /** Whether the store ends a wait of these that would never end. */
  readonly findsDeadlocks: boolean
  /** Whether the store has semaphores. */
  readonly counts: boolean
  readonly ttlMs: number
  /** How long a run may wait after everything was healed, beside the commands before it. */
  readonly boundMs: number
  /** Runs Debian's newest server, which has not the fault that waives promises for older ones. */
  readonly newest: boolean
}

const CONTENDERS = 6
const NESTED = 2
const LEAST_TTL_MS = 2000

export function shapeOf(store: StoreName): CommandLineShape {
  const { ttlMs, boundMs } = STORES[store]
  const newest = store === 'etcd' && hasNewest('etcd')
  return {
    contenders: CONTENDERS,
    nested: NESTED,
    findsDeadlocks: store !== 'zookeeper' && store !== 'redlock',
    counts: store !== 'redlock',
    ttlMs: Math.max(LEAST_TTL_MS, ttlMs),
    boundMs,
    newest,
  }
}

/**
 * What an old etcd that stands still may do by itself, a newer one does not: then everything is
 * promised.
 */
export const MENDED_IN_NEWEST: readonly FaultKind[] = ['stall', 'quorum-loss']

/** What is left out, and what to do about it; undefined when nothing is. */
export function leftOutOf(store: StoreName): string | undefined {
  if (store !== 'etcd' || shapeOf(store).newest) return undefined
  return (
    `The faults ${MENDED_IN_NEWEST.join(' and ')} are left out on etcd: before 3.4.31 and 3.5.13 it may grant twice by itself. ` +
    'For a newer one: npm run servers:newest -- etcd'
  )
}
