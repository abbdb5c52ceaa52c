/** The client's way to the resource that the locks protect: one line of JSON there, one back. */
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { ResourceAnswer, ResourceRequest } from '../resource.js'

export class ResourceClient {
  readonly #socket: Socket
  readonly #waiting: ((answer: ResourceAnswer) => void)[] = []

  private constructor(socket: Socket) {
    this.#socket = socket
    createInterface({ input: socket }).on('line', (line) => {
      this.#waiting.shift()?.(JSON.parse(line) as ResourceAnswer)
    })
  }

  static async open(path: string): Promise<ResourceClient> {
    const socket = connect(path)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    // The conductor is gone, and this process with it: it is told by its own channel.
    socket.on('error', () => undefined)
    return new ResourceClient(socket)
  }

  ask(request: ResourceRequest): Promise<ResourceAnswer> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#socket.write(`${JSON.stringify(request)}\n`)
    })
  }

  close(): void {
    this.#socket.destroy()
  }
}
