/** The names of locks, and reading whole queues, for `inspect` and `steal`. */
import type { ListQuery, NamesPage } from '../../../store/contract.js'
import { showsEnough } from '../../coordination/queue/queue-rule.js'
import type { ListedEntry, ListedQueue } from '../../coordination/connection/service.js'
import type { Connection } from '../connection/connection.js'
import type { Keys } from '../keys.js'
import {
  leaseRequest,
  METHODS,
  op,
  range,
  readLease,
  readRange,
  readTxn,
  txn,
  type KeyValue,
} from '../wire/messages.js'
import { decodeValue } from '../wire/values.js'

/** How many entries are read at once. */
const CHUNK = 500
/** How many queues one request reads, and as how many entries of each. */
const [QUEUES_TOGETHER, ENTRIES_TOGETHER] = [60, 20]

/** A page of names: a range of keys, without their values. The cursor is a key. */
export async function listNames(
  connection: Connection,
  { prefix, cursor, limit }: ListQuery,
): Promise<NamesPage> {
  const { keys } = connection
  const { key, end } = keys.queuesWith(prefix)
  const body = range(cursor ?? key, { end, limit: CHUNK, sort: 'by-key', keysOnly: true })
  const answer = readRange(await connection.request(METHODS.range, body, { repeatable: true }))
  const found = [...new Set(answer.found.flatMap((kv) => keys.lockOf(kv.key) ?? []))]
  const names = found.slice(0, limit)
  if (!answer.more && names.length === found.length) return { names, cursor: undefined }
  const [lastName, lastKey] = [names.at(-1), answer.found.at(-1)?.key]
  // Behind the queue of the last name, however long that is.
  return { names, cursor: lastName === undefined ? `${lastKey}\0` : keys.after(lastName) }
}

/** @param waitersUpTo see `Store.inspect` */
export async function readQueues(
  connection: Connection,
  locks: readonly string[],
  waitersUpTo?: readonly string[],
): Promise<readonly ListedQueue[]> {
  if (waitersUpTo) {
    const queues = locks.map((lock) => listFirst(connection, lock, waitersUpTo))
    return (await Promise.all(queues)).flat()
  }
  const found: KeyValue[] = []
  for (let start = 0; start < locks.length; start += QUEUES_TOGETHER) {
    found.push(...(await readTogether(connection, locks.slice(start, start + QUEUES_TOGETHER))))
  }
  return withLeaseTimes(connection, entriesOf(connection.keys, found))
}

/** Reads some queues by one request, and the long ones of them by requests of their own. */
async function readTogether(
  connection: Connection,
  locks: readonly string[],
): Promise<readonly KeyValue[]> {
  const spans = locks.map((lock) => connection.keys.queueOf(lock))
  const limit = ENTRIES_TOGETHER
  const body = txn({ when: [], then: spans.map(({ key, end }) => op.range(key, { end, limit })) })
  const answer = readTxn(await connection.request(METHODS.txn, body, { repeatable: true }))
  const queues = spans.map(async ({ key, end }, index) => {
    const { found = [], more = false } = answer.answers[index] ?? {}
    return more ? readAll(connection, key, end) : found
  })
  return (await Promise.all(queues)).flat()
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

/** Reads chunk by chunk, until the end. */
async function readAll(connection: Connection, start: string, end: string): Promise<KeyValue[]> {
  const found: KeyValue[] = []
  for (let from = start; ;) {
    const body = range(from, { end, limit: CHUNK, sort: 'by-key' })
    const answer = readRange(await connection.request(METHODS.range, body, { repeatable: true }))
    found.push(...answer.found)
    const last = answer.found.at(-1)
    if (!answer.more || !last) return found
    from = `${last.key}\0`
  }
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
