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
  /** Sends this many bytes of the next answer, and then resets the connection. */
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
  /** How many connections clients have opened. */
  connections = 0
  /** How many packets have come from clients. */
  packets = 0
  /** How many bytes the server has answered. */
  answeredBytes = 0
  /** Where new connections lead to. */
  target: number
  /** Sees what clients send, each on its connection. */
  onRequest: ((bytes: Buffer, connection: object) => void) | undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #clients = new Set<Socket>()
  /** Clients that were cut off, while their other end stays. */
  readonly #cutOff = new Set<Socket>()
  /** Connections of clients that wait for `letIn`, while there is any such wait. */
  #heldBack: Socket[] | undefined

  private constructor(server: Server, target: number) {
    this.#server = server
    this.target = target
  }

  static async to(port: number): Promise<Proxy> {
    const server = createServer()
    const proxy = new Proxy(server, port)
    server.on('connection', (client) => proxy.#join(client))
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

  /** Ends the connections on the side of the clients alone. What they have sent still arrives. */
  cutClients(): void {
    for (const client of this.#clients) {
      this.#cutOff.add(client)
      client.resetAndDestroy()
    }
  }

  /** From now on new connections are taken, and nothing of what they send is passed on. */
  holdBack(): void {
    this.#heldBack ??= []
  }

  /** Passes everything on that was held back. */
  letIn(): void {
    for (const client of this.#heldBack ?? []) client.resume()
    this.#heldBack = undefined
  }

  heal(): void {
    Object.assign(this.faults, HEALTHY)
  }

  async close(): Promise<void> {
    this.reset()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  #join(client: Socket): void {
    if (this.faults.refuse) {
      client.resetAndDestroy()
      return
    }
    this.connections += 1
    const server = connect(this.target, '127.0.0.1')
    this.#clients.add(client)
    this.#tie(client, server)
    this.#tie(server, client)
    const [there, back] = [new Way(server), new Way(client)]
    client.on('data', (bytes) => {
      this.packets += 1
      this.onRequest?.(bytes, client)
      if (!this.faults.dropRequests) there.carry(bytes, this.faults.requestMs)
    })
    if (this.#heldBack) {
      client.pause()
      this.#heldBack.push(client)
    }
    server.on('data', (bytes) => {
      this.answeredBytes += bytes.length
      this.#answer(client, back, bytes)
    })
  }

  /** What ends one end ends the other. */
  #tie(socket: Socket, other: Socket): void {
    socket.setNoDelay(true)
    this.#sockets.add(socket)
    socket.on('error', () => other.destroy())
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#clients.delete(socket)
      if (!this.#cutOff.delete(socket)) other.destroy()
    })
  }

  #answer(client: Socket, back: Way, bytes: Buffer): void {
    const { cutReplyAt, dropReplies, replyMs } = this.faults
    if (dropReplies) return
    if (cutReplyAt === undefined) {
      back.carry(bytes, replyMs)
      return
    }
    this.faults.cutReplyAt = undefined
    client.write(bytes.subarray(0, cutReplyAt), () => client.resetAndDestroy())
  }
}

/**
 * One direction of a connection. What was sent first arrives first, also when the way gets faster
 * meanwhile.
 */
class Way {
  readonly #to: Socket
  readonly #travelling: { readonly bytes: Buffer; readonly dueMs: number }[] = []

  constructor(to: Socket) {
    this.#to = to
  }

  carry(bytes: Buffer, delayMs: number): void {
    if (delayMs === 0 && this.#travelling.length === 0) {
      this.#send(bytes)
      return
    }
    const nowMs = performance.now()
    const dueMs = Math.max(nowMs + delayMs, this.#travelling.at(-1)?.dueMs ?? 0)
    this.#travelling.push({ bytes, dueMs })
    if (this.#travelling.length === 1) setTimeout(() => this.#arrive(), dueMs - nowMs)
  }

  #arrive(): void {
    const nowMs = performance.now()
    for (let next = this.#travelling[0]; next; next = this.#travelling[0]) {
      // Timers may fire a moment early.
      if (next.dueMs > nowMs + 1) {
        setTimeout(() => this.#arrive(), next.dueMs - nowMs)
        return
      }
      this.#send(next.bytes)
      this.#travelling.shift()
    }
  }

  #send(bytes: Buffer): void {
    if (this.#to.writable) this.#to.write(bytes)
  }
}
