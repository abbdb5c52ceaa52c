/** Starts the private service of a store. */
import { needNetwork, type AnyFaultKind } from '../faults/catalogue.js'
import { STORES, type StoreName } from '../stores.js'
import { needsClock } from './clock.js'
import { etcdTarget, zookeeperTarget } from './consensus.js'
import { mysqlTarget, postgresTarget } from './databases.js'
import { embeddedTarget, memoryTarget } from './local.js'
import { redisTarget } from './redis.js'
import { clusterTarget, sentinelTarget } from './replicated.js'
import type { Target } from './target.js'

/**
 * @param kinds the faults that it is to meet: some need a service that is started for them
 * @param newest run Debian's newest server, where that makes a difference
 */
export async function startTarget(
  store: StoreName,
  kinds: readonly AnyFaultKind[],
  newest?: boolean,
): Promise<Target> {
  const { servers } = STORES[store]
  const clocks = needsClock(kinds)
  switch (store) {
    case 'memory':
      return memoryTarget()
    case 'embedded':
      return embeddedTarget(kinds.includes('disk-full'))
    case 'redis':
    case 'redlock':
      return redisTarget(servers, kinds)
    case 'redis-sentinel':
      return sentinelTarget()
    case 'redis-cluster':
      return clusterTarget()
    case 'postgres':
      return postgresTarget(clocks)
    case 'mysql':
      return mysqlTarget(clocks)
    case 'etcd':
      return etcdTarget(servers, {
        apart: needNetwork(kinds),
        disks: kinds.includes('disk-stalled'),
        newest: newest === true,
      })
    case 'zookeeper':
      break
  }
  return zookeeperTarget(servers, needNetwork(kinds))
}
