/**
 * The peers of this store: the other open stores of this machine. Sends them wake-ups, and finds
 * out that one has died.
 *
 * A waiter keeps a connection to each holder. When that ends, the holder may have died. It
 * certainly has when its socket refuses a new connection, since a stopped process still lets
 * connections queue. A socket file that is gone proves nothing.
 */
import { existsSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { inodeOf, isSocketOf, PeerSocket, wasInBacklog } from './peer-socket.js'
import type { SocketAddress } from '../folder/socket-address.js'

export class Peers {
  readonly #onDeath: (address: SocketAddress) => void
  /**
   * The connections that are open. Each goes when its peer cannot be reached any more, or a
   * service would keep every process that it woke.
   */
  readonly #sockets = new Map<string, PeerSocket>()

  /** @param onDeath called when a peer died to which a connection was open */
  constructor(onDeath: (address: SocketAddress) => void) {
    this.#onDeath = onDeath
  }

  /**
   * Sends a line to a peer to which a connection is open. Returns false when none is: the
   * address is needed then.
   */
  sendTo(id: string, text: string): boolean {
    const peer = this.#sockets.get(id)
    peer?.send(text)
    return peer !== undefined
  }

  /** Sends a line to a peer. A lost line costs its receiver a heartbeat. */
  send(address: SocketAddress, text: string): void {
    this.#at(address).send(text)
  }

  /** Keeps a connection to a peer, and so notices its death. */
  watch(address: SocketAddress): void {
    this.#at(address)
  }

  isWatched(id: string): boolean {
    return this.#sockets.has(id)
  }

  /** Resolves to whether the peer is certainly dead. */
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

  /** Resolves to whether a process listens at a socket, or may do so. */
  async mayLive(address: SocketAddress): Promise<boolean> {
    return !(await this.isDead(address)) && existsSync(address.socket)
  }

  /** The same for a process of which only the socket is known. */
  mayListen(id: string, socket: string): Promise<boolean> {
    return this.mayLive({ id, socket, inode: inodeOf(socket), pidNamespace: '' })
  }

  /** Removes the socket of a dead peer. */
  forget(address: SocketAddress): void {
    if (!isSocketOf(address)) return
    try {
      unlinkSync(address.socket)
    } catch {
      // It is gone already, or another user's: that one removes it.
    }
  }

  close(): void {
    for (const peer of this.#sockets.values()) peer.close()
    this.#sockets.clear()
  }

  #at(address: SocketAddress): PeerSocket {
    const present = this.#sockets.get(address.id)
    if (present) return present
    const peer = new PeerSocket(address, (isDead) => {
      this.#sockets.delete(address.id)
      if (isDead) this.#onDeath(address)
    })
    this.#sockets.set(address.id, peer)
    return peer
  }
}
