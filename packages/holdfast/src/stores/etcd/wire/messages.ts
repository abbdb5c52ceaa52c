/**
 * The messages of etcd's v3 interface that Holdfast uses, with their field numbers as in etcd's
 * `rpc.proto` and `kv.proto`. int64 is a bigint throughout: revisions and lease ids do not fit a
 * double.
 */
import { Fields, message, repeated } from './protobuf.js'

export const METHODS = {
  range: '/etcdserverpb.KV/Range',
  txn: '/etcdserverpb.KV/Txn',
  grant: '/etcdserverpb.Lease/LeaseGrant',
  revoke: '/etcdserverpb.Lease/LeaseRevoke',
  keepAlive: '/etcdserverpb.Lease/LeaseKeepAlive',
  timeToLive: '/etcdserverpb.Lease/LeaseTimeToLive',
  watch: '/etcdserverpb.Watch/Watch',
  authenticate: '/etcdserverpb.Auth/Authenticate',
  status: '/etcdserverpb.Maintenance/Status',
  alarm: '/etcdserverpb.Maintenance/Alarm',
} as const

export interface KeyValue {
  readonly key: string
  readonly createRevision: bigint
  readonly modRevision: bigint
  readonly value: Buffer
  readonly lease: bigint
}

export interface RangeOptions {
  /** The first key behind the range. Without it the range is one key. */
  readonly end?: string | Uint8Array | undefined
  readonly limit?: number | undefined
  /** By create revision, which is the order of a queue. */
  readonly sort?: 'oldest-first' | 'newest-first' | 'by-key' | undefined
  readonly maxCreateRevision?: bigint | undefined
  readonly keysOnly?: boolean | undefined
}

const SORT = { 'oldest-first': [1, 2], 'newest-first': [2, 2], 'by-key': [1, 0] } as const

export function range(key: string, options: RangeOptions = {}): Buffer {
  const [order, target] = options.sort ? SORT[options.sort] : [0, 0]
  return message(
    [1, key],
    [2, options.end],
    [3, options.limit],
    [5, order],
    [6, target],
    [8, options.keysOnly],
    [13, options.maxCreateRevision],
  )
}

/** An operation inside a transaction. */
export const op = {
  range: (key: string, options?: RangeOptions): Buffer => message([1, range(key, options)]),
  put: (key: string, value: string, lease: bigint): Buffer =>
    message([2, message([1, key], [2, value], [3, lease])]),
  /** Writes the value and leaves the lease as it is. */
  rewrite: (key: string, value: string): Buffer =>
    message([2, message([1, key], [2, value], [6, true])]),
  remove: (key: string): Buffer => message([3, message([1, key])]),
  txn: (txn: Buffer): Buffer => message([4, txn]),
}

const EQUAL = 0
const CREATE = 1
const MOD = 2

/** A condition of a transaction. */
export const when = {
  absent: (key: string): Buffer => message([1, EQUAL], [2, CREATE], [3, key]),
  /** Nothing at all is in the range. */
  empty: (key: string, end: string): Buffer =>
    message([1, EQUAL], [2, CREATE], [3, key], [64, end]),
  created: (key: string, revision: bigint): Buffer =>
    message([1, EQUAL], [2, CREATE], [3, key], [5, revision]),
  unchanged: (key: string, revision: bigint): Buffer =>
    message([1, EQUAL], [2, MOD], [3, key], [6, revision]),
}

export interface Txn {
  readonly when: readonly Buffer[]
  readonly then: readonly Buffer[]
  readonly otherwise?: readonly Buffer[]
}

export function txn({ when: conditions, then: success, otherwise = [] }: Txn): Buffer {
  return message(...repeated(1, conditions), ...repeated(2, success), ...repeated(3, otherwise))
}

export interface TxnAnswer {
  readonly revision: bigint
  /** The raft term of the member that answered. */
  readonly term: bigint
  readonly succeeded: boolean
  /** One for each operation that was run. */
  readonly answers: readonly OpAnswer[]
}

export interface OpAnswer {
  /** What a range found, in its order. */
  readonly found: readonly KeyValue[]
  /** Whether the limit of a range left some out. */
  readonly more: boolean
  /** How many keys a removal took out. */
  readonly removed: bigint
  /** The answer of a transaction inside the transaction. */
  readonly inner: TxnAnswer | undefined
}

export function readTxn(bytes: Buffer): TxnAnswer {
  const fields = new Fields(bytes)
  const header = fields.sub(1)
  return {
    revision: header.int(3),
    term: header.int(4),
    succeeded: fields.flag(2),
    answers: fields.all(3).map((answer) => readOp(new Fields(answer))),
  }
}

function readOp(fields: Fields): OpAnswer {
  return {
    found: fields.has(1) ? fields.sub(1).all(2).map(readKeyValue) : [],
    more: fields.has(1) && fields.sub(1).flag(3),
    removed: fields.has(3) ? fields.sub(3).int(2) : 0n,
    inner: fields.has(4) ? readTxn(fields.bytes(4)) : undefined,
  }
}

export interface RangeAnswer {
  readonly revision: bigint
  readonly found: readonly KeyValue[]
  readonly more: boolean
}

export function readRange(bytes: Buffer): RangeAnswer {
  const fields = new Fields(bytes)
  return {
    revision: fields.sub(1).int(3),
    found: fields.all(2).map(readKeyValue),
    more: fields.flag(3),
  }
}

function readKeyValue(bytes: Buffer): KeyValue {
  const fields = new Fields(bytes)
  return {
    key: fields.text(1),
    createRevision: fields.int(2),
    modRevision: fields.int(3),
    value: fields.bytes(5),
    lease: fields.int(6),
  }
}

export function leaseRequest(id: bigint): Buffer {
  return message([1, id])
}

export function grantRequest(ttlSeconds: number): Buffer {
  return message([1, ttlSeconds])
}

export interface LeaseAnswer {
  readonly id: bigint
  /** Zero, or below it, when the lease is gone. */
  readonly ttlSeconds: number
  /** The raft term of the member that answered. */
  readonly term: bigint
}

export function readLease(bytes: Buffer): LeaseAnswer {
  const fields = new Fields(bytes)
  const ttlSeconds = Number(BigInt.asIntN(64, fields.int(3)))
  return { id: fields.int(2), ttlSeconds, term: fields.sub(1).int(4) }
}

export interface WatchTarget {
  readonly id: number
  readonly key: string
  readonly deletesOnly: boolean
}

/**
 * From now on. A watch that begins in the past is served a tenth of a second later: etcd gathers
 * those.
 */
export function watchRequest({ id, key, deletesOnly }: WatchTarget): Buffer {
  // A filter is an enumeration whose value "no puts" is 0, so it has to be written out as a packed
  // list.
  const filters = deletesOnly ? Uint8Array.of(0) : undefined
  return message([1, message([1, key], [5, filters], [7, id])])
}

export function cancelRequest(id: number): Buffer {
  return message([2, message([1, id])])
}

export interface WatchAnswer {
  readonly id: number
  /** The watch has begun: what came after `revision` will be reported. */
  readonly created: boolean
  readonly revision: bigint
  readonly canceled: boolean
  readonly happened: boolean
}

export function readWatch(bytes: Buffer): WatchAnswer {
  const fields = new Fields(bytes)
  return {
    id: Number(fields.int(2)),
    created: fields.flag(3),
    revision: fields.sub(1).int(3),
    canceled: fields.flag(4),
    happened: fields.has(11),
  }
}

export function authRequest(user: string, password: string): Buffer {
  return message([1, user], [2, password])
}

export function readToken(bytes: Buffer): string {
  return new Fields(bytes).text(2)
}

export interface MemberStatus {
  readonly memberId: bigint
  readonly version: string
  readonly databaseBytes: number
  /** Zero when it knows of no leader. */
  readonly leader: bigint
  readonly errors: readonly string[]
}

export function readStatus(bytes: Buffer): MemberStatus {
  const fields = new Fields(bytes)
  return {
    memberId: fields.sub(1).int(2),
    version: fields.text(2),
    databaseBytes: Number(fields.int(3)),
    leader: fields.int(4),
    errors: fields.all(8).map(String),
  }
}
