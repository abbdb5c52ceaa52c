/**
 * The talk with one server: requests and their answers, in order, with signs of life in between.
 *
 * ZooKeeper answers the requests of a session in their order. So the oldest one without an answer
 * shows whether the server still works. When its answer takes too long, the connection ends, and no
 * answer comes late.
 */
import type { Clock, Timer } from '../../../clock/clock.js'
import { momentOf, type Moment } from '../../coordination/connection/moment.js'
import type { Connection } from './connection.js'
import { CODES, ZooKeeperFailure } from '../errors.js'
import { LifeSigns } from './life-signs.js'
import { Reader } from '../wire/jute.js'
import {
  PING_FRAME,
  readEvent,
  readHeader,
  requestFrame,
  XIDS,
  type Request,
} from '../wire/messages.js'

/** The timer may fire a little early. */
const ALMOST = 0.9
const LARGEST_XID = 0x7fff_ffff

export interface PendingRequest {
  readonly request: Request<unknown>
  /** @param since the sign of life that is proven, if a quorum agreed to the request */
  readonly resolve: (value: unknown, since: Moment) => void
  readonly reject: (error: ZooKeeperFailure) => void
}

export interface WireListener {
  /** A node that was watched has changed or gone. */
  changed(path: string): void
  /** The connection is over. Requests without an answer were rejected before. */
  down(): void
}

export interface LifeTimes {
  readonly tickMs: number
  /** After how much silence a sign of life is sent, in milliseconds. */
  readonly pingMs: number
  /** How long the server may take over an answer, in milliseconds. */
  readonly answerMs: number
}

interface SentRequest extends PendingRequest {
  readonly xid: number
  readonly sent: Moment
  readonly since: Moment
}

export class WireConnection {
  readonly #connection: Connection
  readonly #chroot: string
  readonly #listener: WireListener
  readonly #times: LifeTimes
  #sent: SentRequest[] = []
  #first = 0
  #xid = 0
  /** The signs of life without an answer. */
  readonly #pings: Moment[] = []
  readonly #signs: LifeSigns
  #lastSentMs: number
  readonly #clock: Clock
  #timer: Timer
  #over = false
  lastZxid = 0n

  constructor(
    connection: Connection,
    chroot: string,
    times: LifeTimes,
    listener: WireListener,
    clock: Clock,
  ) {
    const { greeted } = connection
    this.#connection = connection
    this.#chroot = chroot
    this.#listener = listener
    this.#times = times
    this.#signs = new LifeSigns(greeted, times.tickMs)
    this.#lastSentMs = greeted.monotonicMs
    this.#clock = clock
    this.#timer = this.#checkSoon()
    // Only an answer that is still to come keeps the process alive.
    connection.hold(false)
    connection.listen({
      message: (bytes) => this.#take(bytes),
      down: (why) => this.#down(why),
    })
  }

  send(pending: PendingRequest): void {
    this.#xid = this.#xid === LARGEST_XID ? 1 : this.#xid + 1
    const { request, resolve, reject } = pending
    const sent = momentOf(this.#clock)
    const since = this.#signs.ripe(sent.monotonicMs)
    this.#lastSentMs = sent.monotonicMs
    this.#connection.send(requestFrame(this.#xid, request, this.#chroot))
    if (this.#first === this.#sent.length) this.#connection.hold(true)
    this.#sent.push({ request, resolve, reject, xid: this.#xid, sent, since })
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
      this.#noteSign(this.#pings.shift())
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
    this.#noteSign(sent.sent)
    this.#first += 1
    if (this.#first > 1000 || this.#first === this.#sent.length) {
      this.#sent = this.#sent.slice(this.#first)
      this.#first = 0
      if (this.#sent.length === 0) this.#connection.hold(false)
    }
    if (error === 0) sent.resolve(value, sent.since)
    else sent.reject(new ZooKeeperFailure(error))
  }

  #noteSign(sent: Moment | undefined): void {
    if (sent) this.#signs.note(sent, this.#clock.monotonicMs())
  }

  #checkSoon(): Timer {
    const { pingMs, answerMs } = this.#times
    const check = (): void => {
      this.#timer = this.#checkSoon()
      this.#check()
    }
    return this.#clock.timer(Math.min(pingMs, answerMs) / 2, check, true)
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs()
    const { pingMs, answerMs } = this.#times
    if (this.#overdue(nowMs)) {
      // After a pause of this process the answer may be there, and not read yet.
      setImmediate(() => {
        if (!this.#over && this.#overdue(nowMs))
          this.#down(new Error(`no answer within ${Math.round(answerMs)} ms`))
      })
    } else if (nowMs - this.#lastSentMs >= pingMs * ALMOST) {
      const sent = momentOf(this.#clock)
      this.#lastSentMs = sent.monotonicMs
      this.#pings.push(sent)
      this.#connection.send(PING_FRAME)
    }
  }

  #overdue(nowMs: number): boolean {
    const oldestMs = Math.min(
      this.#sent[this.#first]?.sent.monotonicMs ?? Infinity,
      this.#pings[0]?.monotonicMs ?? Infinity,
    )
    return nowMs - oldestMs > this.#times.answerMs
  }

  #down(why: Error): void {
    if (this.#over) return
    this.#connection.end()
    this.#finish(why.message)
    this.#listener.down()
  }

  #finish(why: string): void {
    this.#over = true
    this.#timer.cancel()
    const open = this.#sent.slice(this.#first)
    this.#sent = []
    this.#first = 0
    for (const { reject } of open)
      reject(new ZooKeeperFailure(CODES.connectionLoss, `connection loss: ${why}`))
  }
}
