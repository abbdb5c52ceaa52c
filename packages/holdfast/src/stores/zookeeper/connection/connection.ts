/**
 * One TCP connection to one server, from the greeting to its end.
 *
 * Messages that are sent in one tick travel in one packet. Half a message or nonsense ends the
 * connection, and the session continues over another one.
 */
import { connect, type Socket } from 'node:net'
import type { Clock } from '../../../clock/clock.js'
import { TickQueue } from '../../../collections/tick-queue.js'
import { MessageSplitter } from '../../coordination/connection/message-splitter.js'
import { momentOf, type Moment } from '../../coordination/connection/moment.js'
import { Reader } from '../wire/jute.js'
import { helloFrame, readWelcome, type Welcome } from '../wire/messages.js'

export interface Server {
  readonly host: string
  readonly port: number
}

/** What to say to a server. */
export interface Greeting {
  /** The session to go on with, or one with the id 0 and the timeout that is wanted. */
  readonly session: Welcome
  readonly lastZxid: bigint
  /** Whether the search may not keep the process alive. */
  readonly background: boolean
  readonly clock: Clock
}

export interface ConnectionListener {
  message(bytes: Buffer): void
  /** Called once, in a tick of its own, unless the connection was ended on this side. */
  down(why: Error): void
}

export class Connection {
  readonly welcome: Welcome
  /** When the greeting left. */
  readonly greeted: Moment
  readonly #socket: Socket
  readonly #splitter: MessageSplitter
  #listener: ConnectionListener | undefined
  /** The messages that came before there was a listener. */
  readonly #early: Buffer[]
  readonly #unsent = new TickQueue<Buffer>((requests) => this.#write(requests))
  #ended = false
  #broken: Error | undefined

  private constructor(
    socket: Socket,
    splitter: MessageSplitter,
    greeted: Moment,
    [welcome, ...early]: readonly Buffer[],
  ) {
    this.#socket = socket
    this.#splitter = splitter
    this.greeted = greeted
    this.welcome = readWelcome(new Reader(welcome ?? Buffer.alloc(0)))
    this.#early = early
    for (const event of ['connect', 'data', 'error', 'close']) socket.removeAllListeners(event)
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('error', (error) => this.#down(error))
    socket.on('close', () => this.#down(new Error('the server ended the connection')))
  }

  /**
   * Greets a server. Rejects when it does not answer within the limit, and when it ends the
   * connection: a server without a leader does.
   */
  static open(
    server: Server,
    { session, lastZxid, background, clock }: Greeting,
    limitMs: number,
  ): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(server.port, server.host)
      const splitter = new MessageSplitter()
      let greeted = momentOf(clock)
      const fail = (error: Error): void => {
        clearTimeout(timer)
        socket.destroy()
        reject(error)
      }
      const timer = setTimeout(
        () => fail(new Error(`no greeting within ${Math.round(limitMs)} ms`)),
        limitMs,
      )
      if (background) {
        socket.unref()
        timer.unref()
      }
      socket.setNoDelay(true)
      socket.on('error', fail)
      socket.on('close', () => fail(new Error('the server ended the connection')))
      socket.on('connect', () => {
        greeted = momentOf(clock)
        socket.write(helloFrame(session, lastZxid))
      })
      socket.on('data', (bytes: Buffer) => {
        try {
          const messages = splitter.take(bytes)
          if (messages.length === 0) return
          clearTimeout(timer)
          resolve(new Connection(socket, splitter, greeted, messages))
        } catch (error) {
          fail(
            new Error(`it does not greet as ZooKeeper does: ${(error as Error).message}`, {
              cause: error,
            }),
          )
        }
      })
    })
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
    if (this.#broken) this.#report(this.#broken)
    this.#tell(() => this.#early.splice(0))
  }

  send(frame: Buffer): void {
    this.#unsent.add(frame)
  }

  /** Whether it keeps the process alive. */
  hold(needed: boolean): void {
    if (needed) this.#socket.ref()
    else this.#socket.unref()
  }

  end(): void {
    if (this.#ended) return
    this.#unsent.flush()
    this.#ended = true
    this.#socket.destroy()
  }

  #write(requests: readonly Buffer[]): void {
    if (this.#ended) return
    const [first] = requests
    this.#socket.write(first && requests.length === 1 ? first : Buffer.concat(requests))
  }

  #take(bytes: Buffer): void {
    this.#tell(() => this.#splitter.take(bytes))
  }

  #tell(messages: () => readonly Buffer[]): void {
    try {
      for (const message of messages()) {
        if (this.#ended) return
        if (this.#listener) this.#listener.message(message)
        else this.#early.push(message)
      }
    } catch (error) {
      this.#down(error as Error)
    }
  }

  #down(why: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#broken = why
    this.#socket.destroy()
    this.#report(why)
  }

  #report(why: Error): void {
    process.nextTick(() => this.#listener?.down(why))
  }
}
