/** The names of locks, and reading whole queues, for `inspect` and `steal`. */
import type { Clock, Timer } from '../../../clock/clock.js'
import type { ListQuery, NamesPage } from '../../../store/contract.js'
import { showsEnough } from '../../coordination/queue/queue-rule.js'
import type { ListedEntry, ListedQueue } from '../../coordination/connection/service.js'
import { CODES, hasCode } from '../errors.js'
import { decodeNode } from '../wire/node-data.js'
import { checkShapes, lockOf, parentOf, queueOf, ROOT, type Child } from '../keys.js'
import type { ZooKeeperSession } from '../session/session.js'
import { childrenOf, noChroot, readNode } from './tree.js'
import { getData } from '../wire/messages.js'

/** How many queues are read at once: their requests travel behind each other. */
const QUEUES_AT_ONCE = 200
/** How long the names of the next pages are kept, in milliseconds. */
const PAGES_KEPT_MS = 10_000

/** The names of the pages to come of a list. */
interface Rest {
  readonly prefix: string
  readonly cursor: string
  readonly locks: readonly string[]
}

/**
 * Pages of a list. ZooKeeper cannot list a part of the children. So the first page lists the names
 * of all locks, and they are kept for the next ones.
 */
export class NamePages {
  /** What the list that was asked for last has not given yet. */
  #rest: Rest | undefined
  #forget: Timer | undefined
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Lists what any server had acknowledged before the call, or before that of the first page. */
  async next(session: ZooKeeperSession, { prefix, cursor, limit }: ListQuery): Promise<NamesPage> {
    const rest = this.#rest
    const isNext = rest !== undefined && rest.prefix === prefix && rest.cursor === cursor
    const locks = isNext ? rest.locks : await namesOf(session, prefix, cursor)
    const names = locks.slice(0, limit)
    const last = locks.length > limit ? names.at(-1) : undefined
    this.#keep(last === undefined ? undefined : { prefix, cursor: last, locks: locks.slice(limit) })
    return { names, cursor: last }
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
  // The server of this session may lag behind the one that acknowledged an entry to another
  // session, or to another client.
  await session.agree()
  const children = await childrenOf(session, ROOT)
  if (children.length === 0) await checkChroot(session)
  return children
    .flatMap((node) => lockOf(node) ?? [])
    .filter((lock) => lock.startsWith(prefix) && (cursor === undefined || lock > cursor))
    .sort()
}

/**
 * Reads queues with all that any server had acknowledged before the call.
 * @param waitersUpTo see `Store.inspect`
 */
export async function readQueues(
  session: ZooKeeperSession,
  locks: readonly string[],
  waitersUpTo?: readonly string[],
): Promise<readonly ListedQueue[]> {
  await session.agree()
  const queues: ListedQueue[] = []
  for (let start = 0; start < locks.length; start += QUEUES_AT_ONCE) {
    const some = locks.slice(start, start + QUEUES_AT_ONCE)
    const found = await Promise.all(some.map((lock) => readQueue(session, lock, waitersUpTo)))
    queues.push(...found.filter((queue) => queue !== undefined))
  }
  if (queues.length === 0) await checkChroot(session)
  return queues
}

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
