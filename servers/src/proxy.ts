/** A TCP proxy on a free port of the loopback, that can delay and lose what passes through it. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export interface ProxyFaults {
  /** How long each request travels, in milliseconds. */
  requestMs: number
  /** How long each reply travels, in milliseconds. */
  replyMs: number
  /** Swallows what clients send. */
  dropRequests: boolean
  /** Swallows what the server answers. */
  dropReplies: boolean
  /** Refuses new connections. */
  refuse: boolean
  /** Sends only so many bytes of the next answer, and then resets the connection. */
  cutReplyAt: number | undefined
}

const HEALTHY: Readonly<ProxyFaults> = {
  requestMs: 0,
  replyMs: 0,
  dropRequests: false,
  dropReplies: false,
  refuse: false,
  cutReplyAt: undefined,
}

export class Proxy {
  readonly faults: ProxyFaults = { ...HEALTHY }
  /** How many packets have come from clients. */
  packets = 0
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
    return (this.#server.address() as AddressInfo).port
  }

  /** Ends all connections without a word of goodbye. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  heal(): void {
    Object.assign(this.faults, HEALTHY)
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
    this.#tie(client, server)
    this.#tie(server, client)
    client.on('data', (bytes) => {
      this.packets += 1
      if (!this.faults.dropRequests) carry(bytes, server, this.faults.requestMs)
    })
    server.on('data', (bytes) => this.#answer(client, bytes))
  }

  /** What ends one end ends the other. */
  #tie(socket: Socket, other: Socket): void {
    socket.setNoDelay(true)
    this.#sockets.add(socket)
    socket.on('error', () => other.destroy())
    socket.on('close', () => {
      this.#sockets.delete(socket)
      other.destroy()
    })
  }

  #answer(client: Socket, bytes: Buffer): void {
    const { cutReplyAt, dropReplies, replyMs } = this.faults
    if (dropReplies) return
    if (cutReplyAt === undefined) {
      carry(bytes, client, replyMs)
      return
    }
    this.faults.cutReplyAt = undefined
    client.write(bytes.subarray(0, cutReplyAt), () => client.resetAndDestroy())
  }
}

function carry(bytes: Buffer, to: Socket, delayMs: number): void {
  const send = (): void => void (to.writable && to.write(bytes))
  if (delayMs === 0) send()
  else setTimeout(send, delayMs)
}
