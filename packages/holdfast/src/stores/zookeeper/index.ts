/**
 * `holdfast/zookeeper`: locks in ZooKeeper, with consensus under them.
 *
 * Needs ZooKeeper 3.5 or later, and no client library.
 */
import type { Store } from '../../store/contract.js'
import { CoordinationStore } from '../coordination/store.js'
import { checkOptions, type ZooKeeperOptions } from './options.js'
import { ZooKeeperService } from './service.js'

export type { ZooKeeperOptions } from './options.js'

/**
 * Sessions are longer than leases by a tick and a second, and by default are granted between two
 * ticks and twenty.
 */
const TTL_RANGE_MS = [1000, 3_600_000] as const

/**
 * Makes a store on a ZooKeeper ensemble. It connects when it is first used, with one session for
 * each TTL that is in use.
 * @throws LockUsageError when the options make no sense.
 */
export function zookeeperStore(options: ZooKeeperOptions): Store {
  checkOptions(options, 'zookeeperStore')
  return new CoordinationStore(new ZooKeeperService(options), {
    name: 'zookeeper',
    ttlRangeMs: TTL_RANGE_MS,
  })
}
