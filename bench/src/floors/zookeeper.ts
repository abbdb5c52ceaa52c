/**
 * The floor on ZooKeeper: a request that makes an ephemeral node, and one that removes it. The
 * token is the transaction that made the node. Both go through Holdfast's own connection.
 */
import type { Locker } from '../locker.js'
import { loadOwn } from './own-modules.js'

const ZOOKEEPER = 'stores/zookeeper'
const ROOT = '/floor'
const SESSION_MS = 30_000

type Messages = typeof import('../../../packages/holdfast/dist/stores/zookeeper/wire/messages.js')
type Sessions = typeof import('../../../packages/holdfast/dist/stores/zookeeper/session/session.js')

export async function zookeeperFloor(connect: string): Promise<Locker> {
  const [{ create, FLAGS, remove }, { ZooKeeperSession }] = await Promise.all([
    loadOwn<Messages>(`${ZOOKEEPER}/wire/messages.js`),
    loadOwn<Sessions>(`${ZOOKEEPER}/session/session.js`),
  ])
  const session = await ZooKeeperSession.open({ connect }, SESSION_MS, 'any')
  // It is there from the second run on.
  await session.ask(create(ROOT, '', FLAGS.persistent, false)).catch(() => undefined)
  return (name) => {
    const path = `${ROOT}/${name}`
    return async () => {
      const { stat } = await session.ask(create(path, '', FLAGS.ephemeral, false))
      if (stat.czxid <= 0n) throw new Error('ZooKeeper gave no number to a node.')
      return () => session.ask(remove(path))
    }
  }
}
