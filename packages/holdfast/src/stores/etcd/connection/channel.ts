/**
 * gRPC over HTTP/2 to one member, as much of it as etcd needs: requests with one answer, and
 * streams in both directions.
 *
 * Node's own HTTP/2 carries it. A request costs the client less than half of what it costs through
 * a library of gRPC, with its resolvers, balancers and filters. A lock is two requests.
 */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { MessageSplitter } from '../../coordination/connection/message-splitter.js'
import { isWorthAnotherMember } from '../errors.js'
import { DEADLINE_EXCEEDED, GrpcFailure, INTERNAL, readStatus, UNAVAILABLE } from '../errors.js'
import { parseEndpoint, type EtcdOptions } from './endpoints.js'

/**
 * In a message of gRPC the length stands behind a byte that says whether it is compressed: ours
 * never are.
 */
const LENGTH_AT = 1
const HEAD_BYTES = 5
/** How much etcd may send ahead on one stream, in bytes. */
const WINDOW_BYTES = 1 << 20
/**
 * Streams of a connection are numbered, by twos and up to 2^31: after a thousand million requests
 * it takes no more. From here on others go over a new connection.
 */
const LAST_STREAM = 2 ** 30

/** How long the requests of a channel that was closed may still be answered, in milliseconds. */
const LAST_ANSWERS_MS = 50

export interface CallOptions {
  readonly token: string | undefined
  /** Ends the call when the member has no leader, rather than letting it wait for one. */
  readonly needsLeader: boolean
}

export interface RequestLimits extends CallOptions {
  readonly timeoutMs: number
}

/** Receives the messages of a stream, and its end unless it was cancelled on this side. */
export interface StreamListener {
  message(bytes: Buffer): void
  over(why: GrpcFailure | undefined): void
}

export interface Stream {
  send(message: Buffer): void
  cancel(): void
}

/** What a stream reports to its channel, and asks of it. */
interface StreamOwner {
  /** Something has arrived. */
  heard(): void
  /** Why the connection has ended, if it has. */
  whyBroken(): Error | undefined
  closed(): void
}

export class Channel {
  readonly #url: string
  readonly #options: EtcdOptions
  #session: ClientHttp2Session | undefined
  /** How many streams are open on each connection, with those that serve their last ones. */
  readonly #sessions = new Map<ClientHttp2Session, number>()
  /** Why the last connection ended. */
  #broken: Error | undefined
  /** Grows with each arrival. */
  #heard = 0

  constructor(endpoint: string, options: EtcdOptions) {
    const { target, secure } = parseEndpoint(endpoint, options)
    this.#url = `${secure ? 'https' : 'http'}://${target}`
    this.#options = options
  }

  /** Rejects with a `GrpcFailure`. */
  request(
    method: string,
    message: Buffer,
    { timeoutMs, ...options }: RequestLimits,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined
      const heardBefore = this.#heard
      const { session, stream } = this.#call(method, options, {
        message: (bytes) => (answer ??= bytes),
        over: (why) => {
          clearTimeout(timer)
          if (why && isWorthAnotherMember(why)) this.#leave(session)
          if (why) reject(why)
          else if (answer) resolve(answer)
          else reject(new GrpcFailure(INTERNAL, 'there was no answer'))
        },
      })
      const giveUp = (): void => {
        if (stream.closed) return
        reject(new GrpcFailure(DEADLINE_EXCEEDED, `no answer within ${Math.round(timeoutMs)} ms`))
        stream.close(constants.NGHTTP2_CANCEL)
        // Nothing at all has come in the meantime: the connection may be dead, without a sign of
        // it. One that is still being made would send what was given up.
        if (session.connecting || this.#heard === heardBefore) session.destroy()
        else this.#leave(session)
      }
      // After a pause of this process the answer may be there, and not read yet.
      const timer = setTimeout(() => setImmediate(giveUp), timeoutMs)
      stream.end(framed(message))
    })
  }

  stream(method: string, options: CallOptions, listener: StreamListener): Stream {
    let cancelled = false
    const { stream } = this.#call(method, options, {
      message: (bytes) => void (cancelled || listener.message(bytes)),
      over: (why) => void (cancelled || listener.over(why)),
    })
    return {
      send: (message) => void (stream.writable && stream.write(framed(message))),
      cancel: () => {
        cancelled = true
        stream.close(constants.NGHTTP2_CANCEL)
      },
    }
  }

  /** Ends all connections, and soon also those with requests that are not answered. */
  close(): void {
    const destroy = (): void => {
      for (const session of this.#sessions.keys()) session.destroy()
    }
    if (this.#session) this.#retire(this.#session)
    setTimeout(destroy, LAST_ANSWERS_MS).unref()
  }

  #call(
    method: string,
    { token, needsLeader }: CallOptions,
    listener: StreamListener,
  ): { session: ClientHttp2Session; stream: ClientHttp2Stream } {
    const session = this.#connected()
    const stream = session.request({
      ':method': 'POST',
      ':path': method,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(token === undefined ? {} : { token }),
      ...(needsLeader ? { hasleader: 'true' } : {}),
    })
    followAnswer(stream, listener, {
      heard: () => void (this.#heard += 1),
      whyBroken: () => this.#broken,
      closed: () => this.#release(session),
    })
    this.#hold(session)
    // It has no number yet while the connection is being made.
    if ((stream.id ?? 0) > LAST_STREAM) this.#retire(session)
    return { session, stream }
  }

  #connected(): ClientHttp2Session {
    const present = this.#session
    if (present && !present.closed && !present.destroyed) return present
    const { ca, cert, key, serverName } = this.#options.tls ?? {}
    const session = connect(this.#url, {
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
      ...(ca === undefined ? {} : { ca: asBuffer(ca) }),
      ...(cert === undefined ? {} : { cert: asBuffer(cert) }),
      ...(key === undefined ? {} : { key: asBuffer(key) }),
      ...(serverName === undefined ? {} : { servername: serverName }),
    })
    this.#session = session
    this.#broken = undefined
    this.#sessions.set(session, 0)
    session.on('close', () => this.#sessions.delete(session))
    session.on('error', (error) => (this.#broken = error))
    session.unref()
    return session
  }

  /**
   * Ends a connection when its open streams have ended. Node's own way (`close`) also waits until
   * the server ends it, which keeps the process alive: a server that stands still never does.
   */
  #retire(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined
    if (this.#sessions.get(session) === 0) session.destroy()
  }

  /**
   * Leaves a connection to a member that is of no use, though it answers. The address may lead to
   * another member by now, as that of a service or of a proxy does. An open connection would never
   * learn of it.
   */
  #leave(session: ClientHttp2Session): void {
    if (this.#session === session) this.#retire(session)
  }

  /** A connection keeps the process alive only while a stream is open on it. */
  #hold(session: ClientHttp2Session): void {
    const open = (this.#sessions.get(session) ?? 0) + 1
    this.#sessions.set(session, open)
    if (open === 1) session.ref()
  }

  #release(session: ClientHttp2Session): void {
    const open = this.#sessions.get(session)
    // It has ended.
    if (open === undefined) return
    this.#sessions.set(session, open - 1)
    if (open > 1 || session.destroyed) return
    if (session === this.#session) session.unref()
    else session.destroy()
  }
}

/** Passes the messages of one answer on, and reports its end once. */
function followAnswer(
  stream: ClientHttp2Stream,
  listener: StreamListener,
  owner: StreamOwner,
): void {
  const splitter = new MessageSplitter(LENGTH_AT)
  let status: GrpcFailure | 'ok' | undefined
  let failure: Error | undefined
  let over = false
  const end = (): void => {
    if (over) return
    over = true
    // Without a status the connection has broken, wherever in the answer that was.
    const why = failure ?? owner.whyBroken() ?? new Error('the connection has ended')
    listener.over(
      status === 'ok' ? undefined : (status ?? new GrpcFailure(UNAVAILABLE, why.message, why)),
    )
  }
  stream.on('response', (headers) => {
    owner.heard()
    status = readStatus(headers)
  })
  stream.on('trailers', (headers) => (status = readStatus(headers) ?? status))
  stream.on('data', (bytes: Buffer) => {
    owner.heard()
    try {
      for (const message of splitter.take(bytes)) listener.message(message)
    } catch (error) {
      stream.destroy(error as Error)
    }
  })
  stream.on('error', (error) => (failure = error))
  stream.on('end', () => {
    if (status) end()
  })
  stream.on('close', () => {
    owner.closed()
    end()
  })
}

function framed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, LENGTH_AT)
  message.copy(bytes, HEAD_BYTES)
  return bytes
}

function asBuffer(value: string | Uint8Array): Buffer {
  return Buffer.from(value)
}
