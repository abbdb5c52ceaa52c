/** The nodes of locks: making them where they are missing, and reading whole queues. */
import { StoreUnavailableError } from '../../errors.js'
import type { InspectQuery } from '../../store/contract.js'
import { showsEnough } from '../coordination/queue-rule.js'
import type { ListedEntry, ListedQueue, QueuesPage } from '../coordination/service.js'
import { CODES, hasCode } from './failures.js'
import { decodeNode } from './node-data.js'
import { checkShapes, lockOf, parentOf, queueOf, ROOT, type Child } from './nodes.js'
import type { ZooKeeperSession } from './session.js'
import { create, FLAGS, getChildren, getData, remove, type Stat } from './wire/messages.js'

/**
 * What may be missing is made, and what was made is reaped again when it is empty: a few tries
 * suffice.
 */
const TRIES = 20

/** Runs something that needs the node of a lock, and makes that node when it is not there. */
export async function inLock<T>(
  session: ZooKeeperSession,
  lock: string,
  restricted: boolean,
  run: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run()
    } catch (error) {
      // A container that has been empty for a while is reaped, also between its making and its
      // first child.
      if (!hasCode(error, CODES.noNode) || tries === TRIES) throw error
    }
    await makeNode(session, ROOT, FLAGS.persistent, restricted)
    await makeNode(session, parentOf(lock), FLAGS.container, restricted)
  }
}

async function makeNode(
  session: ZooKeeperSession,
  path: string,
  flags: number,
  restricted: boolean,
): Promise<void> {
  try {
    await session.ask(create(path, '', flags, restricted))
  } catch (error) {
    if (hasCode(error, CODES.nodeExists)) return
    if (path === ROOT && hasCode(error, CODES.noNode)) throw noChroot(session.connect, error)
    throw error
  }
}

function noChroot(connect: string, cause: unknown): StoreUnavailableError {
  const chroot = connect.slice(connect.indexOf('/'))
  return new StoreUnavailableError(
    `ZooKeeper has no node ${chroot}, which stands behind the servers in "${connect}". Make it first: create ${chroot}`,
    { code: 'STORE_CONFIG', store: 'zookeeper', cause },
  )
}

/**
 * Below a node that is not there nothing is found either. That must not count as an answer.
 */
async function checkChroot(session: ZooKeeperSession): Promise<void> {
  try {
    await session.askAgain(getData('/', false))
  } catch (error) {
    if (hasCode(error, CODES.noNode)) throw noChroot(session.connect, error)
    // The refusal to read it proves that it is there.
    if (!hasCode(error, CODES.noAuth)) throw error
  }
}

/** The children of a node. No node has no children. */
export async function childrenOf(
  session: ZooKeeperSession,
  path: string,
): Promise<readonly string[]> {
  return (await orNothing(session.askAgain(getChildren(path)))) ?? []
}

export async function readNode(
  session: ZooKeeperSession,
  path: string,
): Promise<{ stat: Stat; text: string } | undefined> {
  return orNothing(session.askAgain(getData(path, false)))
}

/** False when it was not there. */
export async function removeNode(session: ZooKeeperSession, path: string): Promise<boolean> {
  return (await orNothing(session.ask(remove(path)).then(() => true))) ?? false
}

/**
 * The same for a node that the session would keep alive: without an answer, it is done when the
 * connection is back.
 */
export async function removeNowOrLater(session: ZooKeeperSession, path: string): Promise<boolean> {
  try {
    return await removeNode(session, path)
  } catch (error) {
    session.doLater(path, () => removeNode(session, path))
    throw error
  }
}

/** Undefined where there is no such node. */
async function orNothing<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking
  } catch (error) {
    if (hasCode(error, CODES.noNode)) return undefined
    throw error
  }
}

/** Lists queues with all that any server had acknowledged before the call. */
export async function listQueues(
  session: ZooKeeperSession,
  query: InspectQuery,
): Promise<QueuesPage> {
  // The server of this session may lag behind the one that acknowledged an entry to another
  // session, or to another client.
  await session.agree()
  if ('lock' in query) {
    const queue = await readQueue(session, query.lock, query.waitersUpTo)
    if (!queue) await checkChroot(session)
    return { queues: queue ? [queue] : [], cursor: undefined }
  }
  const { prefix, cursor, limit } = query
  const children = await childrenOf(session, ROOT)
  if (children.length === 0) await checkChroot(session)
  const locks = children
    .flatMap((node) => lockOf(node) ?? [])
    .filter((lock) => lock.startsWith(prefix) && (cursor === undefined || lock > cursor))
    .sort()
  const queues: ListedQueue[] = []
  for (const lock of locks) {
    if (queues.length === limit) return { queues, cursor: queues.at(-1)?.lock }
    const queue = await readQueue(session, lock)
    if (queue) queues.push(queue)
  }
  return { queues, cursor: undefined }
}

/** @param waitersUpTo see `InspectQuery` */
async function readQueue(
  session: ZooKeeperSession,
  lock: string,
  waitersUpTo?: readonly string[],
): Promise<ListedQueue | undefined> {
  const queue = queueOf(await childrenOf(session, parentOf(lock)))
  checkShapes(lock, queue)
  if (!waitersUpTo) {
    const entries = await readEntries(session, lock, queue)
    return entries.length > 0 ? { lock, entries } : undefined
  }
  const there = new Set(queue.map(({ id }) => id))
  const claims = waitersUpTo.filter((id) => there.has(id))
  const entries: ListedEntry[] = []
  for (let [from, to] = [0, 1]; from < queue.length && !showsEnough(entries, claims);) {
    entries.push(...(await readEntries(session, lock, queue.slice(from, to))))
    from = to
    to *= 2
  }
  return entries.length > 0 ? { lock, entries } : undefined
}

async function readEntries(
  session: ZooKeeperSession,
  lock: string,
  children: readonly Child[],
): Promise<ListedEntry[]> {
  const parent = parentOf(lock)
  const read = await Promise.all(
    children.map(async ({ name, id }): Promise<ListedEntry | undefined> => {
      const key = `${parent}/${name}`
      const node = await readNode(session, key)
      const decoded = node && decodeNode(node.text, node.stat.czxid)
      if (!node || !decoded) return undefined
      const { data, number } = decoded
      const entry = { lock, id, key, number }
      return { entry, data, version: BigInt(node.stat.version), sessionLeftMs: undefined }
    }),
  )
  return read.filter((entry) => entry !== undefined)
}
