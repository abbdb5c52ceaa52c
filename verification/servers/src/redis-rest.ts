/**
 * A Redis server over HTTP: a bridge in this process to a real one, as the endpoint of Upstash
 * works. Faults can be put between the two.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis6'

export interface RestRequest {
  readonly path: string
  readonly command: readonly string[]
  readonly headers: IncomingMessage['headers']
}

/**
 * What happens to a request. `lose-answer`: it is done, and its connection ends before the answer.
 * `refuse`: its connection ends before it is done. `late`: so does that, and it is done later.
 */
export type RestFault = 'lose-answer' | 'refuse' | { readonly lateMs: number } | undefined

export class RestBridge {
  readonly token: string = randomUUID()
  /** The requests so far. */
  readonly requests: RestRequest[] = []
  readonly #redisUrl: string
  readonly #redis: Redis
  readonly #server: Server
  readonly #streams = new Set<ServerResponse>()
  #answers = 0

  constructor(redisUrl: string) {
    this.#redisUrl = redisUrl
    this.#redis = connectTo(redisUrl)
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  /** Decides what happens to each request. */
  fault: (request: RestRequest) => RestFault = () => undefined
  /** Answers instead of the server, where it returns something. */
  answer: (request: RestRequest) => { status: number; body: string } | undefined = () => undefined

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** How many streams of messages are open. */
  get streams(): number {
    return this.#streams.size
  }

  endStreams(): void {
    for (const stream of this.#streams) stream.destroy()
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  async stop(): Promise<void> {
    this.#redis.disconnect()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '', headers } = request
    const command = JSON.parse(await textOf(request)) as string[]
    const asked = { path, command, headers }
    this.requests.push(asked)
    const own = this.answer(asked)
    if (own) response.writeHead(own.status).end(own.body)
    else if (headers.authorization !== `Bearer ${this.token}`)
      answer(response, 401, { error: 'WRONGPASS invalid or missing auth token' })
    else if (path.startsWith('/subscribe/')) await this.#stream(path, response)
    else if (path === '/pipeline') await this.#pipeline(command as never, response)
    else await this.#run(asked, response)
  }

  async #run(asked: RestRequest, response: ServerResponse): Promise<void> {
    const fault = this.fault(asked)
    if (fault === 'refuse' || typeof fault === 'object') response.destroy()
    if (fault === 'refuse') return
    if (typeof fault === 'object') await new Promise((done) => setTimeout(done, fault.lateMs))
    const [status, body] = await this.#ask(asked.command)
    // What became of a request whose server is gone is unknown.
    if (fault !== undefined || body === undefined) {
      response.destroy()
      return
    }
    this.#answers += 1
    response.setHeader('upstash-sync-token', `token-${this.#answers}`)
    answer(response, status, body)
  }

  async #ask(command: readonly string[]): Promise<readonly [status: number, body?: object]> {
    const [name = '', ...args] = command
    try {
      return [200, { result: (await this.#redis.call(name, ...args)) ?? null }]
    } catch (error) {
      const { message } = error as Error
      if (!/^[A-Z]+ /.test(message)) return [0]
      return [400, { error: `${message}, command was: ${JSON.stringify(command)}` }]
    }
  }

  /** As the client library sends what was asked in one tick. The store does not. */
  async #pipeline(commands: readonly string[][], response: ServerResponse): Promise<void> {
    const replies = commands.map(async (command) => this.#ask(command.map(String)))
    answer(
      response,
      200,
      (await Promise.all(replies)).map(([, body]) => body),
    )
  }

  /** Each stream has a connection of its own. */
  async #stream(path: string, response: ServerResponse): Promise<void> {
    const channel = decodeURIComponent(path.slice('/subscribe/'.length))
    const subscriber = connectTo(this.#redisUrl)
    response.on('close', () => {
      this.#streams.delete(response)
      subscriber.disconnect()
    })
    subscriber.on('message', (_channel: string, text: string) => {
      response.write(`data: message,${channel},${text}\n\n`)
    })
    subscriber.on('close', () => response.destroy())
    await subscriber.subscribe(channel)
    this.#streams.add(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: subscribe,${channel},1\n\n`)
  }
}

/** @param redisUrl the server behind the bridge, which may be down for a while */
export function startRestBridge(redisUrl: string): Promise<RestBridge> {
  return new RestBridge(redisUrl).start()
}

function connectTo(url: string): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  redis.on('error', () => undefined)
  return redis
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
