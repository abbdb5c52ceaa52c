/** Reading whole queues, for `inspect` and `steal`. */
import type { Clock, Timer } from '../../../clock/clock.js'
import type { InspectQuery } from '../../../store/contract.js'
import { showsEnough } from '../../coordination/queue/queue-rule.js'
import type { ListedEntry, ListedQueue, QueuesPage } from '../../coordination/connection/service.js'
import { CODES, hasCode } from '../errors.js'
import { decodeNode } from '../wire/node-data.js'
import { checkShapes, lockOf, parentOf, queueOf, ROOT, type Child } from '../keys.js'
import type { ZooKeeperSession } from '../session/session.js'
import { childrenOf, noChroot, readNode } from './tree.js'
import { getData } from '../wire/messages.js'

/** How many locks are read at once. */
const LOCKS_AT_ONCE = 100
/** How long the names of the next pages are kept, in milliseconds. */
const PAGES_KEPT_MS = 10_000

type PrefixQuery = Extract<InspectQuery, { readonly prefix: string }>

/** Lists queues with all that any server had acknowledged before the call. */
export async function listQueues(
  session: ZooKeeperSession,
  query: InspectQuery,
  pages: QueuePages,
): Promise<QueuesPage> {
  // The server of this session may lag behind the one that acknowledged an entry to another
  // session, or to another client.
  await session.agree()
  if ('lock' in query) {
    const queue = await readQueue(session, query.lock, query.waitersUpTo)
    if (!queue) await checkChroot(session)
    return { queues: queue ? [queue] : [], cursor: undefined }
  }
  return pages.next(session, query)
}

/** The names of the pages to come of an inspection. */
interface Rest {
  readonly prefix: string
  readonly cursor: string
  readonly locks: readonly string[]
}

/**
 * Pages of an inspection. ZooKeeper cannot list a part of the children. So the first page lists the
 * names of all locks, and they are kept for the next ones.
 */
export class QueuePages {
  /** What the inspection that was asked for last has not shown yet. */
  #rest: Rest | undefined
  #forget: Timer | undefined
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async next(
    session: ZooKeeperSession,
    { prefix, cursor, limit }: PrefixQuery,
  ): Promise<QueuesPage> {
    const rest = this.#rest
    const isNext = rest !== undefined && rest.prefix === prefix && rest.cursor === cursor
    const locks = isNext ? rest.locks : await namesOf(session, prefix, cursor)
    const queues: ListedQueue[] = []
    let shown = 0
    while (shown < locks.length && queues.length < limit) {
      const end = shown + Math.min(LOCKS_AT_ONCE, limit - queues.length)
      const some = locks.slice(shown, end)
      shown = end
      const found = await Promise.all(some.map((lock) => readQueue(session, lock)))
      queues.push(...found.filter((queue) => queue !== undefined))
    }
    const last = shown < locks.length ? queues.at(-1)?.lock : undefined
    this.#keep(last === undefined ? undefined : { prefix, cursor: last, locks: locks.slice(shown) })
    return { queues, cursor: last }
  }

  #keep(rest: Rest | undefined): void {
    this.#forget?.cancel()
    this.#rest = rest
    if (rest) this.#forget = this.#clock.timer(PAGES_KEPT_MS, () => this.#keep(undefined), true)
  }
}

async function namesOf(
  session: ZooKeeperSession,
  prefix: string,
  cursor: string | undefined,
): Promise<string[]> {
  const children = await childrenOf(session, ROOT)
  if (children.length === 0) await checkChroot(session)
  return children
    .flatMap((node) => lockOf(node) ?? [])
    .filter((lock) => lock.startsWith(prefix) && (cursor === undefined || lock > cursor))
    .sort()
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
