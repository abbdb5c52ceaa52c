/**
 * ZooKeeper for tests: claims, clients that are closed in the end, and a session beside the store
 * to see and to meddle.
 */
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import type { Claim, Store } from 'holdfast/store'
import { zookeeperStore, type ZooKeeperOptions } from 'holdfast/zookeeper'
import { Proxy } from '@holdfast/servers/proxy'
import {
  startZooKeeper,
  TICK_MS,
  type ZooKeeperEnsemble,
  type ZooKeeperOptions as EnsembleOptions,
} from '@holdfast/servers/zookeeper'
import { parentOf } from '../../../dist/stores/zookeeper/keys.js'
import { ZooKeeperSession } from '../../../dist/stores/zookeeper/session/session.js'
import { childrenOf } from '../../../dist/stores/zookeeper/queue/tree.js'
import { after } from '../../etcd/support/world.js'

export {
  after,
  fallSilent,
  handOffInside,
  leaveMinority,
  leavesNothing,
  leavesNoWord,
  waitsOnLonger,
  longClaim,
  makeClaim,
  TRY,
  QUEUE,
  renewed,
  isQuiet,
} from '../../etcd/support/world.js'

/** Servers for one test. */
export async function start(options: EnsembleOptions = {}): Promise<ZooKeeperEnsemble> {
  const ensemble = await startZooKeeper(options)
  after(() => ensemble.stop())
  return ensemble
}

export function openStore(options: ZooKeeperOptions): Store {
  const store = zookeeperStore({ tickMs: TICK_MS, ...options })
  after(async () => store.close())
  return store
}

export function openLocks(options: ZooKeeperOptions, settings: LocksOptions = {}): Locks {
  const locks = createLocks(openStore(options), settings)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

/** A proxy in front of a server, and what to give to clients. */
export async function openProxy(
  port: number | undefined,
): Promise<{ proxy: Proxy; connect: string }> {
  const proxy = await Proxy.to(port ?? 0)
  after(() => proxy.close())
  return { proxy, connect: `127.0.0.1:${proxy.port}` }
}

export function openRaw(connect: string): Promise<ZooKeeperSession> {
  return ZooKeeperSession.open({ connect }, 10_000, 'exact')
}

/** The entries of a lock, without the words about withdrawn claims. */
export async function nodesOf(raw: ZooKeeperSession, lock: string): Promise<string[]> {
  const children = await childrenOf(raw, parentOf(lock))
  return children.filter((name) => !name.startsWith('gone'))
}

/** The path of a claim's entry. */
export async function nodeOf(raw: ZooKeeperSession, { lock, id }: Claim): Promise<string> {
  const name = (await nodesOf(raw, lock)).find((one) => one.includes(`+${id}+`))
  if (name === undefined) throw new Error(`No node of ${id}.`)
  return `${parentOf(lock)}/${name}`
}
