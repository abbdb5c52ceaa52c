/**
 * A station: one open store, as the others on this machine see it. It listens on a unix socket.
 *
 * The socket serves two ends. A store that promotes a waiter of another process sends it the grant,
 * so that it starts without another attempt. And a waiter keeps a connection to the holder: when
 * that ends, the holder may have died. It certainly has when its socket refuses a new
 * connection, since a stopped process still lets connections queue. A socket file that is gone
 * proves nothing.
 */
import { renameSync, unlinkSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { systemRandom } from '../../clock/clock.js'
import { storeClosed, type LockError } from '../../errors.js'
import type { StateFolder } from './directory.js'
import { inodeOf, isSocketOf, PeerSocket, wasInBacklog, type SocketAddress } from './peer-socket.js'

export interface WakeupSocketEvents {
  /** A message of another station. */
  onMessage(text: string): void
  /** A station that we kept a connection to is dead. */
  onDeath(address: SocketAddress): void
}

export const SOCKET_SUFFIX = '.sock'
/** A message longer than this is not ours. */
const LONGEST_MESSAGE = 4096

export class WakeupSocket {
  readonly id = systemRandom.id().slice(0, 11)
  readonly #path: string
  readonly #shared: boolean
  readonly #events: WakeupSocketEvents
  /**
   * Each goes when its station cannot be reached any more, or a service would keep every process
   * that it woke.
   */
  readonly #peers = new Map<string, PeerSocket>()
  readonly #incoming = new Set<Socket>()
  #server: Server | undefined
  #listening: Promise<string> | undefined
  #closed = false

  constructor(folder: StateFolder, events: WakeupSocketEvents) {
    this.#path = join(folder.sockets, this.id + SOCKET_SUFFIX)
    this.#shared = folder.shared
    this.#events = events
  }

  /**
   * Listens, and returns the inode of the socket. Begins again when it failed, or when the socket
   * was removed since.
   */
  listen(): Promise<string> {
    const again = (): Promise<string> => this.#listen()
    const present = (inode: string): string | Promise<string> =>
      inodeOf(this.#path) === inode ? inode : again()
    this.#listening = this.#listening ? this.#listening.then(present, again) : again()
    return this.#listening
  }

  get path(): string {
    return this.#path
  }

  /**
   * Sends a line to a station that we have a connection to. False when we have none, and its
   * address is needed.
   */
  sendTo(id: string, text: string): boolean {
    const link = this.#peers.get(id)
    link?.send(text)
    return link !== undefined
  }

  /** Sends a line to another station. A lost one costs its receiver a heartbeat. */
  send(address: SocketAddress, text: string): void {
    this.#peerAt(address).send(text)
  }

  /** Keeps a connection to a station, to hear of its death. */
  watch(address: SocketAddress): void {
    this.#peerAt(address)
  }

  /** Whether the station is certainly dead. */
  isDead(address: SocketAddress): Promise<boolean> {
    return new Promise((resolve) => {
      // The kernel answers at once, so a process that has nothing else to do may wait for it.
      const probe = connect(address.socket)
      probe.once('connect', () => {
        probe.destroy()
        resolve(false)
      })
      probe.once('error', (error: NodeJS.ErrnoException) => {
        if (wasInBacklog(error.code)) resolve(this.isDead(address))
        else resolve(error.code === 'ECONNREFUSED' && isSocketOf(address))
      })
    })
  }

  /** Removes the socket of a dead station. */
  forget(address: SocketAddress): void {
    if (isSocketOf(address)) removeFile(address.socket)
  }

  /**
   * The name goes first. Who is refused while it is there takes this process for dead and ends its
   * claims, and work may continue under a lease that was left to expire. No other station has this
   * name, and one that is just being made for it is removed by the server's end.
   */
  close(): void {
    this.#closed = true
    removeFile(this.#path)
    this.#server?.close()
    for (const socket of this.#incoming) socket.destroy()
    for (const link of this.#peers.values()) link.close()
    this.#peers.clear()
  }

  async #listen(): Promise<string> {
    // Before there is another one of its name: it removes the name. Its visitors stay.
    this.#server?.close()
    const server = createServer((socket) => this.#receive(socket))
    this.#server = server
    // A process that ends without closing, by an exception perhaps, removes the name that it bound.
    // A refused connection proves its death and a missing file does not, so the socket gets another
    // name, which stays.
    const bound = `${this.#path.slice(0, -SOCKET_SUFFIX.length)}.new`
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // The store may be closed at any moment: then the server never listens.
      server.once('close', () => reject(closedError()))
      if (this.#closed) throw closedError()
      // In a worker of a cluster the primary would listen instead: the socket would prove the
      // primary's life, and refuse connections as soon as the worker is disconnected, which may
      // still work.
      server.listen({ path: bound, exclusive: true }, resolve)
    })
    renameSync(bound, this.#path)
    server.unref()
    server.on('error', () => undefined) // a visitor that could not be accepted looks again by itself
    if (this.#shared) await chmod(this.#path, 0o666)
    return inodeOf(this.#path)
  }

  #receive(socket: Socket): void {
    socket.unref()
    this.#incoming.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#incoming.delete(socket))
    let rest = ''
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      // No store writes this much: it is another program.
      if (rest.length > LONGEST_MESSAGE) socket.destroy()
      for (const line of lines) this.#events.onMessage(line)
    })
  }

  #peerAt(address: SocketAddress): PeerSocket {
    const present = this.#peers.get(address.id)
    if (present) return present
    const link = new PeerSocket(address, (isDead) => {
      this.#peers.delete(address.id)
      if (isDead) this.#events.onDeath(address)
    })
    this.#peers.set(address.id, link)
    return link
  }
}

function closedError(): LockError {
  return storeClosed('embedded', 'embedded')
}

function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // It is gone already, or another user's: that one removes it.
  }
}
