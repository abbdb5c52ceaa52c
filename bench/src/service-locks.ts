/** Locks over a server that a suite has started. */
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { etcdStore } from 'holdfast/etcd'
import { zookeeperStore } from 'holdfast/zookeeper'

export function openLocks(store: string, address: string, options: LocksOptions = {}): Locks {
  return createLocks(
    store === 'etcd'
      ? etcdStore({ endpoints: address.split(',') })
      : zookeeperStore({ connect: address, tickMs: 500 }),
    options,
  )
}
