/**
 * A connection to a peer, made again for as long as that may live.
 *
 * A process that is being torn down may lose its connections before its listening socket, which
 * then still lets a new one queue. That one ends in a moment, and the next is refused. So this
 * store connects again at once after an end. But a process that is out of file descriptors ends
 * each connection as soon as it is made, perhaps for hours. So the attempts become rarer.
 */
import { statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { systemRandom } from '../../../clock/clock.js'
import type { SocketAddress } from '../folder/socket-address.js'

/** The longest pause between two looks: a death in it is found as late as by a missed message. */
const LONGEST_PAUSE_MS = 1000
/** A connection that stood so long was a good one, and its end is news. */
const STABLE_MS = 1000

export class PeerSocket {
  readonly #address: SocketAddress
  readonly #onOver: (isDead: boolean) => void
  #socket: Socket | undefined
  #timer: NodeJS.Timeout | undefined
  /** How many connections in a row ended early. */
  #early = 0
  #closed = false

  /**
   * @param onOver called once, unless it was closed before: the peer cannot be reached any more,
   * and may be dead
   */
  constructor(address: SocketAddress, onOver: (isDead: boolean) => void) {
    this.#address = address
    this.#onOver = onOver
    this.#connect()
  }

  /** Sends a line. It is lost when the connection ends. */
  send(text: string): void {
    const socket = this.#socket ?? this.#connect()
    socket.write(`${text}\n`)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#socket?.destroy()
  }

  #connect(): Socket {
    clearTimeout(this.#timer)
    const socket = connect(this.#address.socket)
    socket.unref()
    this.#socket = socket
    const beganMs = performance.now()
    let accepted = false
    let refused = false
    socket.on('connect', () => (accepted = true))
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      refused = code === 'ECONNREFUSED'
      accepted ||= wasInBacklog(code)
    })
    socket.on('close', () => {
      this.#socket = undefined
      if (this.#closed) return
      if (accepted) this.#connectAgain(performance.now() - beganMs)
      else this.#onOver(refused && isSocketOf(this.#address))
    })
    socket.resume()
    return socket
  }

  #connectAgain(connectedMs: number): void {
    if (connectedMs >= STABLE_MS) this.#early = 0
    const early = this.#early
    this.#early += 1
    if (early === 0) {
      this.#connect()
      return
    }
    const longestMs = Math.min(LONGEST_PAUSE_MS, 2 ** (early - 1))
    this.#timer = setTimeout(() => this.#connect(), longestMs * (0.5 + systemRandom.next() / 2))
    this.#timer.unref()
  }
}

/**
 * The peer ended after the kernel let us connect to it and before we heard of that: the next
 * connection decides.
 */
export function wasInBacklog(code: string | undefined): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE'
}

/**
 * Whether a peer's socket is still there. Once it is gone, a connection that is refused proves
 * nothing.
 */
export function isSocketOf(address: SocketAddress): boolean {
  return inodeOf(address.socket) === address.inode
}

/** Returns the identity of the file that has this name now. Empty when there is none. */
export function inodeOf(path: string): string {
  return String(statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? '')
}
