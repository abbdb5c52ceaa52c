/** The client's way to the resource that the locks protect: one line of JSON there, one back. */
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Resource } from '@holdfast/workload'
import type { ResourceAnswer, ResourceRequest } from '../resource.js'

export class ResourceClient implements Resource {
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
    // The conductor is gone, and this process with it: its own channel reports that.
    socket.on('error', () => undefined)
    return new ResourceClient(socket)
  }

  async read(key: string, owner: string, token: bigint | undefined): Promise<number | undefined> {
    const { accepted, value = 0 } = await this.#send({ key, owner, ...shown(token) })
    return accepted ? value : undefined
  }

  async write(
    key: string,
    owner: string,
    token: bigint | undefined,
    value: number,
  ): ReturnType<Resource['write']> {
    const { accepted, fence } = await this.#send({ key, owner, ...shown(token), value })
    return { accepted, ...(fence === undefined ? {} : { fence: BigInt(fence) }) }
  }

  close(): void {
    this.#socket.destroy()
  }

  #send(request: ResourceRequest): Promise<ResourceAnswer> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#socket.write(`${JSON.stringify(request)}\n`)
    })
  }
}

function shown(token: bigint | undefined): { token?: string } {
  return token === undefined ? {} : { token: String(token) }
}
