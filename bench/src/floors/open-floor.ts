/** The floor of a store at the address of its service. */
import { Redis } from 'ioredis5'
import type { Locker } from '../locker.js'
import { etcdFloor } from './etcd.js'
import { redisFloor, throughIoredis } from './redis.js'
import { zookeeperFloor } from './zookeeper.js'

/** @param address as the client library of the store takes it */
export async function openFloor(store: string, address: string): Promise<Locker> {
  switch (store) {
    case 'redis':
      return redisFloor(throughIoredis(new Redis(address)))
    case 'etcd':
      return etcdFloor(address)
    case 'zookeeper':
      return zookeeperFloor(address)
    default:
      throw new Error(`${store} has no floor.`)
  }
}
