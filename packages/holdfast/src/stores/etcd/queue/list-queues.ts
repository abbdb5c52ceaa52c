/** Reading whole queues, for `inspect` and `steal`. */
import type { InspectQuery } from '../../../store/contract.js'
import { showsEnough } from '../../coordination/queue/queue-rule.js'
import type { ListedEntry, ListedQueue, QueuesPage } from '../../coordination/connection/service.js'
import type { Connection } from '../connection/connection.js'
import type { Keys } from '../keys.js'
import {
  leaseRequest,
  METHODS,
  range,
  readLease,
  readRange,
  type KeyValue,
} from '../wire/messages.js'
import { decodeValue } from '../wire/values.js'

/** How many entries are read at once. */
const CHUNK = 500

export async function listQueues(connection: Connection, query: InspectQuery): Promise<QueuesPage> {
  if ('lock' in query) {
    const { lock, waitersUpTo } = query
    const { key, end } = connection.keys.queueOf(lock)
    const queues = waitersUpTo
      ? await listFirst(connection, lock, waitersUpTo)
      : await describe(connection, await readAll(connection, key, end))
    return { queues, cursor: undefined }
  }
  const { key, end } = connection.keys.queuesWith(query.prefix)
  const start = query.cursor === undefined ? key : connection.keys.after(query.cursor)
  const found = await readAll(connection, start, end, query.limit)
  const queues = await describe(connection, found)
  const page = queues.slice(0, query.limit)
  return { queues: page, cursor: queues.length > query.limit ? page.at(-1)?.lock : undefined }
}

/** Reads the beginning of a queue: its holders, and all entries up to those of some claims. */
async function listFirst(
  connection: Connection,
  lock: string,
  claims: readonly string[],
): Promise<ListedQueue[]> {
  const { key, end } = connection.keys.queueOf(lock)
  for (let limit = claims.length + 1; ; limit *= 4) {
    const body = range(key, { end, limit, sort: 'oldest-first' })
    const answer = readRange(await connection.request(METHODS.range, body, { repeatable: true }))
    const queues = entriesOf(connection.keys, answer.found)
    const entries = [...queues.values()].flat()
    if (!answer.more || showsEnough(entries, claims)) return withLeaseTimes(connection, queues)
  }
}

/** Reads chunk by chunk, until the end or until more than `limit` locks were seen. */
async function readAll(
  connection: Connection,
  start: string,
  end: string | Uint8Array,
  limit = Infinity,
): Promise<KeyValue[]> {
  const found: KeyValue[] = []
  const locks = new Set<string | undefined>()
  for (let from = start; ;) {
    const body = range(from, { end, limit: CHUNK, sort: 'by-key' })
    const answer = readRange(await connection.request(METHODS.range, body, { repeatable: true }))
    found.push(...answer.found)
    for (const { key } of answer.found) locks.add(connection.keys.lockOf(key))
    const last = answer.found.at(-1)
    if (!answer.more || !last || locks.size > limit) return found
    from = `${last.key}\0`
  }
}

async function describe(
  connection: Connection,
  found: readonly KeyValue[],
): Promise<ListedQueue[]> {
  return withLeaseTimes(connection, entriesOf(connection.keys, found))
}

type FoundEntry = ListedEntry & { readonly sessionId: bigint }

function entriesOf(keys: Keys, found: readonly KeyValue[]): Map<string, FoundEntry[]> {
  const queues = new Map<string, FoundEntry[]>()
  const inOrder = found.toSorted((one, other) =>
    one.createRevision < other.createRevision ? -1 : 1,
  )
  // In the order of the keys for the locks, in that of their making for the entries.
  for (const { key } of found) queues.set(keys.lockOf(key) ?? '', [])
  for (const kv of inOrder) {
    const lock = keys.lockOf(kv.key)
    const value = decodeValue(kv.value)
    if (lock === undefined || !value) continue
    const entry = { lock, id: value.id, key: kv.key, number: kv.createRevision }
    const { data } = value
    const { lease: sessionId, modRevision: version } = kv
    queues.get(lock)?.push({ entry, data, version, sessionLeftMs: undefined, sessionId })
  }
  return queues
}

async function withLeaseTimes(
  connection: Connection,
  queues: ReadonlyMap<string, readonly FoundEntry[]>,
): Promise<ListedQueue[]> {
  const leases = new Set([...queues.values()].flat().map(({ sessionId }) => sessionId))
  const leftMs = await leaseTimes(connection, leases)
  return [...queues].flatMap(([lock, found]) => {
    const entries = found.map((entry) => ({ ...entry, sessionLeftMs: leftMs.get(entry.sessionId) }))
    return entries.length > 0 ? [{ lock, entries }] : []
  })
}

async function leaseTimes(
  connection: Connection,
  leases: ReadonlySet<bigint>,
): Promise<Map<bigint, number>> {
  const times = await Promise.all(
    [...leases].map(async (lease): Promise<[bigint, number]> => {
      const body = await connection.request(METHODS.timeToLive, leaseRequest(lease), {
        repeatable: true,
      })
      return [lease, Math.max(0, readLease(body).ttlSeconds * 1000)]
    }),
  )
  return new Map(times)
}
