/** The nodes of locks: making them where they are missing, reading and removing them. */
import { StoreUnavailableError } from '../../../errors.js'
import { CODES, hasCode } from '../errors.js'
import { parentOf, ROOT } from '../keys.js'
import type { ZooKeeperSession } from '../session/session.js'
import { create, FLAGS, getChildren, getData, remove, type Stat } from '../wire/messages.js'

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
    await makeLock(session, lock, restricted)
  }
}

/** Makes the node of a lock. Each write costs a quorum, and the root is there nearly always. */
async function makeLock(
  session: ZooKeeperSession,
  lock: string,
  restricted: boolean,
): Promise<void> {
  const make = (): Promise<void> => makeNode(session, parentOf(lock), FLAGS.container, restricted)
  try {
    return await make()
  } catch (error) {
    if (!hasCode(error, CODES.noNode)) throw error
  }
  await makeNode(session, ROOT, FLAGS.persistent, restricted)
  await make()
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

export function noChroot(connect: string, cause: unknown): StoreUnavailableError {
  const chroot = connect.slice(connect.indexOf('/'))
  return new StoreUnavailableError(
    `ZooKeeper has no node ${chroot}, which stands behind the servers in "${connect}". Make it first: create ${chroot}`,
    { code: 'STORE_CONFIG', store: 'zookeeper', cause },
  )
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
