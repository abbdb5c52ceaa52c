/**
 * Requests to an etcd cluster: one channel for each endpoint, the next one when the present one does not answer, credentials,
 * and errors that say what to do.
 *
 * The client library is imported when the first request is made, so that nobody needs it who uses another store.
 */
import type * as Grpc from '@grpc/grpc-js'
import { LockUsageError, StoreUnavailableError } from '../../errors.js'
import { parseEndpoint, type EtcdOptions } from './options.js'
import { asLockError, isAuthExpired, isWorthAnotherMember } from './failures.js'
import { authRequest, METHODS, readToken } from './messages.js'

export type Call = Grpc.ClientDuplexStream<Buffer, Buffer>

export interface RequestOptions {
  /** Ask another member when the outcome is unclear: right for whatever may be done twice. */
  readonly repeatable: boolean
  /** Ask this endpoint and no other, by its number. */
  readonly endpoint?: number
}

/** How long one member is given to answer, and how long all of them together, in milliseconds. */
const TRY_MS = 2000
const TOTAL_MS = 4500

const same = (bytes: Buffer): Buffer => bytes

export class Connection {
  readonly #options: EtcdOptions
  #library: Promise<typeof Grpc> | undefined
  #grpc: typeof Grpc | undefined
  #clients: Grpc.Client[] = []
  #current = 0
  #token: string | undefined
  #closed = false

  constructor(options: EtcdOptions) {
    this.#options = options
  }

  get endpoints(): readonly string[] {
    return this.#options.endpoints
  }

  async request(method: string, body: Buffer, options: RequestOptions): Promise<Buffer> {
    const endMs = performance.now() + TOTAL_MS
    for (;;) {
      const endpoint = options.endpoint ?? this.#current
      try {
        return await this.#authorized(method, body, endpoint, endMs)
      } catch (error) {
        if (isWorthAnotherMember(error)) this.#leave(endpoint)
        const again = isWorthAnotherMember(error) && options.repeatable && options.endpoint === undefined
        if (!again || performance.now() + 50 > endMs)
          throw asLockError(error, this.#options.endpoints[endpoint])
        // Every member may be without a leader for a moment.
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }
  }

  /** A request whose one answer comes on a stream. */
  async keepAlive(body: Buffer): Promise<Buffer> {
    const endMs = performance.now() + TOTAL_MS
    for (;;) {
      const endpoint = this.#current
      try {
        return await this.#withToken(endMs, endpoint, () =>
          this.#firstAnswer(METHODS.keepAlive, body, endpoint),
        )
      } catch (error) {
        if (!isWorthAnotherMember(error)) throw asLockError(error, this.#options.endpoints[endpoint])
        this.#leave(endpoint)
        if (performance.now() + 50 > endMs) throw asLockError(error, this.#options.endpoints[endpoint])
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }
  }

  /** Opens a stream to the present member. The caller listens to its errors. */
  async stream(method: string): Promise<{ call: Call; failed: () => void }> {
    await this.#open()
    const endpoint = this.#current
    if (this.#options.credentials && this.#token === undefined)
      await this.#authenticate(endpoint, performance.now() + TRY_MS)
    const metadata = this.#metadata()
    // A member that has lost its leader ends the stream, rather than being silent for ever.
    metadata.set('hasleader', 'true')
    const call = this.#client(endpoint).makeBidiStreamRequest(method, same, same, metadata, {})
    return {
      call,
      failed: () => {
        this.#token = undefined
        this.#leave(endpoint)
      },
    }
  }

  close(): void {
    this.#closed = true
    for (const client of this.#clients) client.close()
    this.#clients = []
  }

  async #authorized(method: string, body: Buffer, endpoint: number, endMs: number): Promise<Buffer> {
    return this.#withToken(endMs, endpoint, () => this.#unary(method, body, endpoint, endMs))
  }

  /** Logs in first, and once more when etcd has forgotten the login: its tokens end after a while without use. */
  async #withToken(endMs: number, endpoint: number, ask: () => Promise<Buffer>): Promise<Buffer> {
    await this.#open()
    if (!this.#options.credentials) return ask()
    if (this.#token === undefined) await this.#authenticate(endpoint, endMs)
    try {
      return await ask()
    } catch (error) {
      if (!isAuthExpired(error)) throw error
      await this.#authenticate(endpoint, endMs)
      return ask()
    }
  }

  async #authenticate(endpoint: number, endMs: number): Promise<void> {
    const { credentials } = this.#options
    if (!credentials) return
    this.#token = undefined
    const body = authRequest(credentials.user, credentials.password)
    this.#token = readToken(await this.#unary(METHODS.authenticate, body, endpoint, endMs))
  }

  #unary(method: string, body: Buffer, endpoint: number, endMs: number): Promise<Buffer> {
    const client = this.#client(endpoint)
    const leftMs = Math.min(TRY_MS, endMs - performance.now())
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + Math.max(1, leftMs) }
      client.makeUnaryRequest(method, same, same, body, this.#metadata(), options, (error, answer) => {
        if (error) reject(error)
        else if (answer) resolve(answer)
        else reject(new Error('etcd answered nothing.'))
      })
    })
  }

  #firstAnswer(method: string, body: Buffer, endpoint: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + TRY_MS }
      const metadata = this.#metadata()
      metadata.set('hasleader', 'true')
      const call = this.#client(endpoint).makeBidiStreamRequest(method, same, same, metadata, options)
      call.once('data', (answer: Buffer) => {
        resolve(answer)
        call.end()
      })
      call.on('error', reject)
      call.once('end', () => reject(new Error('etcd ended the stream without an answer.')))
      call.write(body)
    })
  }

  #metadata(): Grpc.Metadata {
    if (!this.#grpc) throw new Error('The client library is not loaded.')
    const metadata = new this.#grpc.Metadata()
    if (this.#token !== undefined) metadata.set('token', this.#token)
    return metadata
  }

  /** The next request goes to the next member. */
  #leave(endpoint: number): void {
    if (this.#current === endpoint) this.#current = (endpoint + 1) % this.#options.endpoints.length
  }

  async #open(): Promise<void> {
    this.#library ??= loadLibrary()
    const grpc = await this.#library
    if (this.#closed)
      throw new LockUsageError('The etcd store was closed.', { code: 'LOCKS_CLOSED', store: 'etcd' })
    if (this.#grpc) return
    this.#grpc = grpc
    this.#clients = this.#options.endpoints.map((endpoint) => makeClient(grpc, endpoint, this.#options))
  }

  #client(endpoint: number): Grpc.Client {
    const client = this.#clients[endpoint]
    if (!client)
      throw new LockUsageError('The etcd store was closed.', { code: 'LOCKS_CLOSED', store: 'etcd' })
    return client
  }
}

function makeClient(grpc: typeof Grpc, endpoint: string, options: EtcdOptions): Grpc.Client {
  const { target, secure } = parseEndpoint(endpoint, options)
  const { ca, cert, key, serverName } = options.tls ?? {}
  const credentials = secure
    ? grpc.credentials.createSsl(bytes(ca), bytes(key), bytes(cert))
    : grpc.credentials.createInsecure()
  return new grpc.Client(target, credentials, {
    // etcd drops clients that ask for signs of life more often than every five seconds.
    'grpc.keepalive_time_ms': 6000,
    'grpc.keepalive_timeout_ms': 3000,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2000,
    'grpc.max_receive_message_length': -1,
    ...(serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName }),
  })
}

function bytes(value: string | Uint8Array | undefined): Buffer | null {
  return value === undefined ? null : Buffer.from(value)
}

async function loadLibrary(): Promise<typeof Grpc> {
  try {
    return await import('@grpc/grpc-js')
  } catch (cause) {
    throw new StoreUnavailableError(
      'The etcd store needs the package @grpc/grpc-js, which could not be loaded. Install it: npm install @grpc/grpc-js',
      { code: 'STORE_CONFIG', store: 'etcd', cause },
    )
  }
}
