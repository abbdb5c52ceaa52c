/** A TCP proxy on a free port, that can lose what passes through it. */
import { connect, createServer, type Server, type Socket } from 'node:net'

export interface ProxyFaults {
  /** Swallows what clients send. */
  dropRequests: boolean
  /** Swallows what the server answers. */
  dropReplies: boolean
  /** Refuses new connections. */
  refuse: boolean
  /** Sends only so many bytes of the next answer, and then resets the connection. */
  cutReplyAt: number | undefined
}

export class Proxy {
  readonly faults: ProxyFaults = {
    dropRequests: false,
    dropReplies: false,
    refuse: false,
    cutReplyAt: undefined,
  }
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async to(port: number): Promise<Proxy> {
    const server = createServer()
    const proxy = new Proxy(server)
    server.on('connection', (client) => proxy.#join(client, port))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', resolve)
    })
    return proxy
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
    return address.port
  }

  /** Ends all connections without a word of goodbye. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  heal(): void {
    Object.assign(this.faults, {
      dropRequests: false,
      dropReplies: false,
      refuse: false,
      cutReplyAt: undefined,
    })
  }

  async close(): Promise<void> {
    this.reset()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  #join(client: Socket, port: number): void {
    if (this.faults.refuse) {
      client.resetAndDestroy()
      return
    }
    const server = connect(port, '127.0.0.1')
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (!this.faults.dropRequests) server.write(bytes)
    })
    server.on('data', (bytes) => this.#answer(client, bytes))
  }

  #answer(client: Socket, bytes: Buffer): void {
    const { cutReplyAt, dropReplies } = this.faults
    if (dropReplies) return
    if (cutReplyAt === undefined) {
      client.write(bytes)
      return
    }
    this.faults.cutReplyAt = undefined
    client.write(bytes.subarray(0, cutReplyAt), () => client.resetAndDestroy())
  }
}
