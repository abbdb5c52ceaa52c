/** A payment provider: counts what it charged, and holds answers back when a test wants it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from '../../support/after.js'
import { Gate } from '../../support/gate.js'

export class Provider {
  /** The charges, by the key that came with them. */
  readonly charges = new Map<string, number>()
  readonly #takesKeys: boolean
  readonly #port: number
  /** A charge waits here, after it was made and before it is answered. */
  #gate: Gate | undefined

  private constructor(takesKeys: boolean, port: number) {
    this.#takesKeys = takesKeys
    this.#port = port
  }

  static async start({ takesKeys }: { readonly takesKeys: boolean }): Promise<Provider> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const provider = new Provider(takesKeys, (server.address() as AddressInfo).port)
    server.on('request', (request, response) => void provider.#charge(request, response))
    after(() => {
      server.close()
      server.closeAllConnections()
    })
    return provider
  }

  get env(): NodeJS.ProcessEnv {
    return {
      PROVIDER: `http://127.0.0.1:${this.#port}`,
      PROVIDER_TAKES_KEYS: this.#takesKeys ? 'yes' : 'no',
    }
  }

  /** Holds the answers to the following charges back, until the gate opens. */
  holdAnswers(): Gate {
    this.#gate = new Gate()
    return this.#gate
  }

  answerAtOnce(): void {
    this.#gate = undefined
  }

  async #charge(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume()
    const key = String(request.headers['idempotency-key'])
    const before = this.charges.get(key) ?? 0
    const count = this.#takesKeys ? 1 : before + 1
    this.charges.set(key, count)
    await this.#gate?.pass()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ charge: `${key}-${count}` }))
  }
}
