/**
 * Holdfast and what stands beside it behind one small interface, each over a pool of the same size.
 * `run` is Holdfast without awaiting the release. `statements` are the store's own, sent by hand.
 * `floor` is a lease row as people write it: a statement to acquire with a token, and one to
 * release. `floor-run` does not await the latter. `naive` is that row with every waiter retrying at
 * each release.
 */
import type { Locker } from '../locker.js'
import { mysqlLocker } from './mysql-lockers.js'
import { postgresLocker } from './postgres-lockers.js'

/** @param connections how many the pool may have */
export function makeLocker(subject: string, url: string, connections: number): Locker {
  return url.startsWith('mysql:')
    ? mysqlLocker(subject, url, connections)
    : postgresLocker(subject, url, connections)
}
