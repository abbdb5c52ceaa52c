/**
 * The floor on etcd: a transaction that makes a key under a lease, and one that removes it. The
 * token is the revision. Both go through Holdfast's own connection, which sends the transactions of
 * one tick in one.
 */
import type { Locker } from '../locker.js'
import { loadOwn } from './own-modules.js'

const ETCD = 'stores/etcd'
const LEASE_SECONDS = 60

type Batching = typeof import('../../../packages/holdfast/dist/stores/etcd/connection/batches.js')
type Connecting =
  typeof import('../../../packages/holdfast/dist/stores/etcd/connection/connection.js')
type Messages = typeof import('../../../packages/holdfast/dist/stores/etcd/wire/messages.js')

export async function etcdFloor(address: string): Promise<Locker> {
  const [{ Batches }, { Connection }, messages] = await Promise.all([
    loadOwn<Batching>(`${ETCD}/connection/batches.js`),
    loadOwn<Connecting>(`${ETCD}/connection/connection.js`),
    loadOwn<Messages>(`${ETCD}/wire/messages.js`),
  ])
  const { grantRequest, METHODS, op, readLease, txn, when } = messages
  const connection = new Connection({ endpoints: address.split(',') })
  const batches = new Batches(connection)
  const repeatable = true
  const granted = await connection.request(METHODS.grant, grantRequest(LEASE_SECONDS), {
    repeatable,
  })
  const { id: lease } = readLease(granted)
  return (name) => {
    const key = `floor/${name}`
    const attempt = txn({ when: [when.absent(key)], then: [op.put(key, '', lease)] })
    return async () => {
      const { succeeded, revision } = await batches.run(name, attempt, repeatable)
      if (!succeeded) throw new Error('A free lock was busy.')
      const removal = txn({ when: [when.created(key, revision)], then: [op.remove(key)] })
      return () => batches.run(name, removal, repeatable)
    }
  }
}
