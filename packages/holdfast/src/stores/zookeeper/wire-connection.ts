/**
 * The talk with one server: requests and their answers, in order, with signs of life in between.
 *
 * ZooKeeper answers the requests of a session in their order, so the one that has waited the
 * longest shows whether the server still works: when that takes too long, the connection ends, and
 * no answer comes late.
 */
import { systemClock } from '../../clock/clock.js'
import type { Connection } from './connection.js'
import { CODES, ZooKeeperFailure } from './failures.js'
import { Reader } from './wire/jute.js'
import {
  PING_FRAME,
  readEvent,
  readHeader,
  requestFrame,
  XIDS,
  type Request,
} from './wire/messages.js'

/** How long a server may take over an answer, in milliseconds. */
const ANSWER_MS = 2500
const LARGEST_XID = 0x7fff_ffff

export interface PendingRequest {
  readonly request: Request<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: ZooKeeperFailure) => void
}

export interface WireListener {
  /** A node that was watched has changed or gone. */
  changed(path: string): void
  /** The connection is over. Requests without an answer were rejected before. */
  down(): void
}

interface SentRequest extends PendingRequest {
  readonly xid: number
  readonly sentMs: number
}

export class WireConnection {
  readonly #connection: Connection
  readonly #chroot: string
  readonly #listener: WireListener
  readonly #pingMs: number
  #sent: SentRequest[] = []
  #first = 0
  #xid = 0
  #pingSentMs: number | undefined
  #lastSentMs = systemClock.monotonicMs()
  readonly #timer: NodeJS.Timeout
  #over = false
  lastZxid = 0n

  /** @param pingMs after how much silence a sign of life is sent, in milliseconds */
  constructor(connection: Connection, chroot: string, pingMs: number, listener: WireListener) {
    this.#connection = connection
    this.#chroot = chroot
    this.#listener = listener
    this.#pingMs = pingMs
    this.#timer = setInterval(() => this.#check(), Math.min(pingMs, ANSWER_MS) / 4).unref()
    connection.listen({
      message: (bytes) => this.#take(bytes),
      down: (why) => this.#down(why),
    })
  }

  send(pending: PendingRequest): void {
    this.#xid = this.#xid === LARGEST_XID ? 1 : this.#xid + 1
    this.#lastSentMs = systemClock.monotonicMs()
    this.#connection.send(requestFrame(this.#xid, pending.request, this.#chroot))
    this.#sent.push({ ...pending, xid: this.#xid, sentMs: this.#lastSentMs })
  }

  /** Ends the talk on this side. */
  end(): void {
    this.#connection.end()
    this.#finish('the session was closed')
  }

  #take(bytes: Buffer): void {
    const reader = new Reader(bytes, this.#chroot)
    const { xid, zxid, error } = readHeader(reader)
    if (zxid > this.lastZxid) this.lastZxid = zxid
    if (xid === XIDS.ping) {
      this.#pingSentMs = undefined
      return
    }
    if (xid === XIDS.event) {
      const path = readEvent(reader)
      if (path !== undefined) this.#listener.changed(path)
      return
    }
    if (xid === XIDS.auth) {
      if (error !== 0) throw new ZooKeeperFailure(error, 'the identity was refused')
      return
    }
    this.#answer(xid, error, reader)
  }

  #answer(xid: number, error: number, reader: Reader): void {
    const sent = this.#sent[this.#first]
    if (sent?.xid !== xid)
      throw new RangeError(`an answer to request ${xid}, which is not the next one`)
    // Read before it counts as answered: what cannot be read fails like all that is still open.
    const value = error === 0 ? sent.request.read(reader) : undefined
    this.#first += 1
    if (this.#first > 1000 || this.#first === this.#sent.length) {
      this.#sent = this.#sent.slice(this.#first)
      this.#first = 0
    }
    if (error === 0) sent.resolve(value)
    else sent.reject(new ZooKeeperFailure(error))
  }

  #check(): void {
    const nowMs = systemClock.monotonicMs()
    if (this.#overdue(nowMs)) {
      // After a pause of this process the answer may be there, and not read yet.
      setImmediate(() => {
        if (!this.#over && this.#overdue(nowMs))
          this.#down(new Error(`no answer within ${ANSWER_MS} ms`))
      })
    } else if (nowMs - this.#lastSentMs >= this.#pingMs && this.#first === this.#sent.length) {
      this.#lastSentMs = nowMs
      this.#pingSentMs ??= nowMs
      this.#connection.send(PING_FRAME)
    }
  }

  #overdue(nowMs: number): boolean {
    const oldestMs = Math.min(
      this.#sent[this.#first]?.sentMs ?? Infinity,
      this.#pingSentMs ?? Infinity,
    )
    return nowMs - oldestMs > ANSWER_MS
  }

  #down(why: Error): void {
    if (this.#over) return
    this.#connection.end()
    this.#finish(why.message)
    this.#listener.down()
  }

  #finish(why: string): void {
    this.#over = true
    clearInterval(this.#timer)
    const open = this.#sent.slice(this.#first)
    this.#sent = []
    this.#first = 0
    for (const { reject } of open)
      reject(new ZooKeeperFailure(CODES.connectionLoss, `connection loss: ${why}`))
  }
}
