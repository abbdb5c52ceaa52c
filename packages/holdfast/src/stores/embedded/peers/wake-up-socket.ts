/**
 * The socket of this store, on which the other stores of this machine reach it.
 *
 * Each open store has a row in the table `peers` and a unix socket. The stores of one folder are
 * *peers*. The socket serves two ends. A store that promotes a waiter of a peer sends the grant to
 * its socket, so the waiter needs no further attempt. And a socket that refuses a connection proves
 * that its process is dead: see `peers/peers.ts`.
 */
import { renameSync, unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { systemRandom } from '../../../clock/clock.js'
import { type LockError } from '../../../errors.js'
import { storeClosed } from '../../../store/errors.js'
import type { StateFolder } from '../folder/state-folder.js'
import { inodeOf } from './peer-socket.js'
import { birthplaceOf } from './socket-birthplace.js'

export const SOCKET_SUFFIX = '.sock'
/** A message longer than this is not ours. */
const LONGEST_MESSAGE = 4096

export class WakeUpSocket {
  readonly id = systemRandom.id().slice(0, 11)
  readonly #folder: StateFolder
  readonly #path: string
  readonly #onMessage: (text: string) => void
  readonly #incoming = new Set<Socket>()
  #server: Server | undefined
  #listening: Promise<string> | undefined
  #closed = false

  /** @param onMessage called with each line that a peer sends */
  constructor(folder: StateFolder, onMessage: (text: string) => void) {
    this.#path = join(folder.sockets, this.id + SOCKET_SUFFIX)
    this.#folder = folder
    this.#onMessage = onMessage
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

  /** Stops listening, until `listen` is called again. */
  stop(): void {
    this.#listening = undefined
    this.#endServer()
  }

  /**
   * Removes the name first. A peer that is refused while the name is there takes this process
   * for dead, and ends its claims. But work may continue under a lease that was left to expire. No
   * other store has this name, and a name that is being made now is removed with the server.
   */
  close(): void {
    this.#closed = true
    this.#endServer()
  }

  #endServer(): void {
    removeFile(this.#path)
    this.#server?.close()
    for (const socket of this.#incoming) socket.destroy()
  }

  async #listen(): Promise<string> {
    // Before there is another one of its name: it removes the name. Its visitors stay.
    this.#server?.close()
    const server = createServer((socket) => this.#receive(socket))
    this.#server = server
    // A process that ends without closing, by an exception perhaps, removes the name that it bound.
    // A refused connection proves its death and a missing file does not, so the socket gets another
    // name, which stays.
    const birthplace = birthplaceOf(this.#folder, this.id)
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        // The store may be closed at any moment: then the server never listens.
        server.once('close', () => reject(closedError()))
        if (this.#closed) throw closedError()
        // In a worker of a cluster the primary would listen instead. The socket would then prove
        // the primary's life. It would also refuse connections once the worker is disconnected,
        // though the worker may still work.
        server.listen({ path: birthplace.path, exclusive: true }, resolve)
      })
      if (this.#folder.shared) birthplace.openToAll()
      renameSync(birthplace.path, this.#path)
    } finally {
      birthplace.close()
    }
    server.unref()
    server.on('error', () => undefined) // a visitor that could not be accepted looks again by itself
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
      for (const line of lines) this.#onMessage(line)
    })
  }
}

function closedError(): LockError {
  return storeClosed('embedded')
}

function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // It is gone already, or another user's: that one removes it.
  }
}
