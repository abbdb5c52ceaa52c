/**
 * `holdfast/etcd`: locks in etcd, with consensus under them.
 *
 * Needs etcd 3.4 or later, and no client library.
 */
import type { Store } from '../../store/contract.js'
import { CoordinationStore } from '../coordination/store.js'
import { Connection } from './connection/connection.js'
import { checkOptions } from './options.js'
import type { EtcdOptions } from './connection/endpoints.js'
import { EtcdService } from './service.js'

export type { EtcdOptions, EtcdTls } from './connection/endpoints.js'

/**
 * A session is a second longer than its leases, and etcd grants none below 2 s unless its election
 * timeout is changed.
 */
const SHORTEST_TTL_MS = 1000
/** The longest TTL that etcd takes, 9 000 000 000 s, is longer than any timer. */
const LONGEST_TTL_MS = 2 ** 31 - 1

/**
 * Makes a store on an etcd cluster. It connects when it is first used.
 * @throws LockUsageError when the options make no sense.
 */
export function etcdStore(options: EtcdOptions): Store {
  checkOptions(options, 'etcdStore')
  return new CoordinationStore(new EtcdService(new Connection(options)), {
    name: 'etcd',
    ttlRangeMs: [SHORTEST_TTL_MS, LONGEST_TTL_MS],
  })
}
