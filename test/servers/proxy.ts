/** A wire between a client and a server, on a port of its own: requests and replies can be made late. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export class Proxy {
  /** How long each request travels, in milliseconds. */
  requestMs = 0
  /** How long each reply travels, in milliseconds. */
  replyMs = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(targetPort: number) {
    this.#server = createServer((client) => {
      const target = connect(targetPort, '127.0.0.1')
      this.#tie(client, target)
      client.on('data', (chunk) => carry(chunk, target, this.requestMs))
      target.on('data', (chunk) => carry(chunk, client, this.replyMs))
    })
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #tie(...ends: readonly [Socket, Socket]): void {
    for (const socket of ends) {
      socket.setNoDelay(true)
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        for (const end of ends) end.destroy()
      })
    }
  }
}

function carry(chunk: Buffer, to: Socket, delayMs: number): void {
  const send = (): void => void (to.writable && to.write(chunk))
  if (delayMs === 0) send()
  else setTimeout(send, delayMs)
}
