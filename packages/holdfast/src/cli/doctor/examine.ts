/** All checks of `holdfast doctor`: of the store, and of this machine. */
import { createLocks } from '../../index.js'
import type { Store } from '../../store/index.js'
import { kindOf, type StoreKindName } from '../../url/store-kinds.js'
import { schemeOf } from '../../url/scheme.js'
import type { StoreLocation } from '../stores/locate.js'
import { failure, type Finding } from './check.js'
import { checkMysql, checkPostgres } from './databases.js'
import { checkEmbedded } from './embedded.js'
import { checkEtcd } from './etcd.js'
import { checkMachine } from './machine.js'
import { checkRedis } from './redis.js'
import { checkStore } from './store.js'
import { checkZooKeeper } from './zookeeper.js'

export { redisAcl } from './redis.js'

type OpenStore = (location: StoreLocation) => Promise<Store>

export async function examine(location: StoreLocation, open: OpenStore): Promise<Finding[]> {
  return [...(await examineStore(location, open)), ...checkMachine()]
}

async function examineStore(location: StoreLocation, open: OpenStore): Promise<Finding[]> {
  try {
    const locks = createLocks(await open(location), { label: 'holdfast doctor' })
    try {
      const found = await examineService(location)
      // When the service has failed a check, trying a lock would take long and find nothing more.
      const isUseless = found.some(({ verdict }) => verdict === 'failure')
      return isUseless ? found : [...found, ...(await checkStore(locks))]
    } finally {
      await locks.close()
    }
  } catch (error) {
    return [failure('store', error)]
  }
}

/** The checks that only one kind of store needs. */
const CHECKS: Readonly<Record<StoreKindName, (location: StoreLocation) => Promise<Finding[]>>> = {
  embedded: ({ url }) => checkEmbedded(url),
  redis: checkRedis,
  // Its own probe comes with the first lock.
  'redis-http': async () => [],
  postgres: checkPostgres,
  mysql: checkMysql,
  etcd: ({ url }) => checkEtcd(url),
  zookeeper: ({ url }) => checkZooKeeper(url),
}

async function examineService(location: StoreLocation): Promise<Finding[]> {
  const kind = kindOf(schemeOf(location.url))
  return kind === undefined ? [] : CHECKS[kind.name](location)
}
