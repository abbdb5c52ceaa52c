/** ZooKeeper's requests and answers, as many of them as are used. */
import { type Reader, Writer } from './jute.js'

/** What ZooKeeper knows of a node. */
export interface Stat {
  /** The transaction that made it. */
  readonly czxid: bigint
  readonly version: number
  /** The session of an ephemeral node; 0 for any other. */
  readonly ephemeralOwner: bigint
}

/** A request, with what reads its answer. */
export interface Request<T> {
  readonly op: number
  readonly write: (writer: Writer) => void
  readonly read: (reader: Reader) => T
}

/** What a server says to a new connection. */
export interface Welcome {
  /** 0 when the session is gone. */
  readonly timeoutMs: number
  readonly id: bigint
  readonly password: Buffer
}

/**
 * Messages of the server that answer no request, and requests that are answered out of the order.
 */
export const XIDS = { event: -1, ping: -2, auth: -4 } as const

const OPS = {
  create: 1,
  remove: 2,
  getData: 4,
  setData: 5,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  createContainer: 19,
  auth: 100,
  close: -11,
} as const

/** How a node is made. */
export const FLAGS = { persistent: 0, ephemeral: 1, ephemeralSequential: 3, container: 4 } as const

/**
 * Stands behind the last part of a request or an answer; and where a part of an answer is an error.
 */
const [END_OF_PARTS, FAILED_PART] = [-1, -1] as const
const ALL_RIGHTS = 31
const NOTHING = Buffer.alloc(0)
const ANY_VERSION = -1

/** @param restricted whether only the identity that asks may use the node */
export function create(
  path: string,
  data: string,
  flags: number,
  restricted: boolean,
): Request<{ path: string; stat: Stat }> {
  return {
    op: flags === FLAGS.container ? OPS.createContainer : OPS.create2,
    write: (writer) => {
      writer.path(path).bytes(data === '' ? NOTHING : Buffer.from(data))
      writer.int(1).int(ALL_RIGHTS)
      writer.text(restricted ? 'auth' : 'world').text(restricted ? '' : 'anyone')
      writer.int(flags)
    },
    read: (reader) => ({ path: reader.path(), stat: readStat(reader) }),
  }
}

export function remove(path: string): Request<undefined> {
  return {
    op: OPS.remove,
    write: (writer) => void writer.path(path).int(ANY_VERSION),
    read: () => undefined,
  }
}

/** Also sets a watch where that is wanted. A node that is not there is not watched. */
export function getData(path: string, watch: boolean): Request<{ text: string; stat: Stat }> {
  return {
    op: OPS.getData,
    write: (writer) => void writer.path(path).bool(watch),
    read: (reader) => ({ text: reader.text(), stat: readStat(reader) }),
  }
}

export function setData(path: string, data: string, version: number): Request<Stat> {
  return {
    op: OPS.setData,
    write: (writer) => void writer.path(path).bytes(Buffer.from(data)).int(version),
    read: readStat,
  }
}

export function getChildren(path: string): Request<readonly string[]> {
  return {
    op: OPS.getChildren2,
    write: (writer) => void writer.path(path).bool(false),
    read: (reader) => reader.texts(),
  }
}

/**
 * Makes an ephemeral node again in its place, for the session that asks, if its data has not
 * changed. In one step: no client sees the place empty. The answer is the code of what stood in the
 * way, or 0.
 */
export function replace(
  path: string,
  data: string,
  version: number,
  restricted: boolean,
): Request<number> {
  return {
    op: OPS.multi,
    write: (writer) => {
      writePart(writer, OPS.remove).path(path).int(version)
      create(path, data, FLAGS.ephemeral, restricted).write(writePart(writer, OPS.create))
      writePart(writer, END_OF_PARTS)
    },
    read: readFailure,
  }
}

function writePart(writer: Writer, op: number): Writer {
  return writer
    .int(op)
    .bool(op === END_OF_PARTS)
    .int(-1)
}

/**
 * The first error among the answers to the parts of a request; those that were only rolled back
 * have none.
 */
function readFailure(reader: Reader): number {
  for (let failure = 0; ;) {
    const type = reader.int()
    const done = reader.bool()
    reader.int()
    if (done) return failure
    if (type === OPS.create) reader.path()
    else if (type === FAILED_PART) failure ||= reader.int()
  }
}

/**
 * Compares nothing, in a `multi`: the leader looks at the session and proposes the request to a
 * quorum, like a write. The answer is the code of what stood in the way, or 0; ZooKeeper looks at
 * the session before it looks at the node.
 */
export function check(path: string): Request<number> {
  return {
    op: OPS.multi,
    write: (writer) => {
      writePart(writer, OPS.check).path(path).int(ANY_VERSION)
      writePart(writer, END_OF_PARTS)
    },
    read: readFailure,
  }
}

/** Ends the session, and all its nodes with it. */
export const CLOSE: Request<undefined> = {
  op: OPS.close,
  write: () => undefined,
  read: () => undefined,
}

export function requestFrame(xid: number, { op, write }: Request<unknown>, chroot: string): Buffer {
  const writer = new Writer(chroot).int(xid).int(op)
  write(writer)
  return writer.frame()
}

export const PING_FRAME = new Writer().int(XIDS.ping).int(OPS.ping).frame()

export function authFrame(scheme: string, identity: string): Buffer {
  const writer = new Writer().int(XIDS.auth).int(OPS.auth)
  return writer.int(0).text(scheme).bytes(Buffer.from(identity)).frame()
}

/** The first message of a connection: a new session, or one that continues. */
export function helloFrame(welcome: Welcome, lastZxid: bigint): Buffer {
  const { timeoutMs, id, password } = welcome
  const writer = new Writer().int(0).long(lastZxid).int(timeoutMs).long(id)
  return writer.bytes(password).bool(false).frame()
}

export function readWelcome(reader: Reader): Welcome {
  reader.int()
  return { timeoutMs: reader.int(), id: reader.long(), password: Buffer.from(reader.bytes()) }
}

export interface AnswerHeader {
  readonly xid: number
  readonly zxid: bigint
  readonly error: number
}

export function readHeader(reader: Reader): AnswerHeader {
  return { xid: reader.int(), zxid: reader.long(), error: reader.int() }
}

/** The node that an event is about; undefined for an event about the connection. */
export function readEvent(reader: Reader): string | undefined {
  const type = reader.int()
  reader.int()
  return type > 0 ? reader.path() : undefined
}

function readStat(reader: Reader): Stat {
  const czxid = reader.long()
  reader.long()
  reader.long()
  reader.long()
  const version = reader.int()
  reader.int()
  reader.int()
  return { czxid, version, ephemeralOwner: reader.long() }
}
