/**
 * The resource that the locks protect: a counter a lock that refuses late tokens, in the
 * conductor's own process, which no fault touches. Clients reach it through a socket, so that what
 * they send can be late.
 */
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { FencedCounters } from '@holdfast/simulator'

export interface ResourceRequest {
  readonly key: string
  readonly owner: string
  readonly token?: string
  /** Missing: reads. */
  readonly value?: number
}

export interface ResourceAnswer {
  readonly accepted: boolean
  readonly value?: number
  /** The largest token that was seen. */
  readonly fence?: string
}

export class Resource {
  readonly path: string
  readonly #server: Server
  readonly #counters = new FencedCounters()
  readonly #sockets = new Set<Socket>()

  private constructor(path: string) {
    this.path = path
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async open(path: string): Promise<Resource> {
    const resource = new Resource(path)
    await new Promise<void>((resolve, reject) => {
      resource.#server.once('error', reject)
      resource.#server.listen(path, resolve)
    })
    return resource
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => void this.#server.close(resolve))
    rmSync(this.path, { force: true })
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    // A client that was killed.
    socket.on('error', () => socket.destroy())
    const lines = createInterface({ input: socket })
    lines.on('error', () => socket.destroy())
    lines.on('line', (line) => {
      socket.write(`${JSON.stringify(this.#answer(JSON.parse(line) as ResourceRequest))}\n`)
    })
  }

  #answer({ key, owner, token: text, value }: ResourceRequest): ResourceAnswer {
    const token = text === undefined ? undefined : BigInt(text)
    if (value === undefined) {
      const found = this.#counters.read(key, owner, token)
      return found === undefined ? this.#refusal(key) : { accepted: true, value: found }
    }
    return this.#counters.write(key, owner, token, value) ? { accepted: true } : this.#refusal(key)
  }

  #refusal(key: string): ResourceAnswer {
    const { fence } = this.#counters.of(key)
    return { accepted: false, ...(fence === undefined ? {} : { fence: String(fence) }) }
  }
}
