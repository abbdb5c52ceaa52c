/** The plugin: `app.locks`, `request.lock`, and the hooks that see when a request is over. */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { fastifyPlugin } from 'fastify-plugin'
import {
  createLocks,
  LockUsageError,
  type Lease,
  type Lockable,
  type Locks,
  type MultiLease,
  type MultiLock,
} from 'holdfast'
import {
  readOptions,
  unseenHandler,
  type HoldfastFastifyOptions,
  type RequestLockOptions,
} from './options.js'
import { RequestLocks, type Shared } from './request-locks.js'
import { RequestProgress } from './request-progress.js'

/** Takes a lock for a request. It is released when the request is over. */
export interface RequestLock {
  /** Takes the mutex of this name. */
  (name: string, options?: RequestLockOptions): Promise<Lease>
  /** Takes a lock of `app.locks`, such as `app.locks.readWriteLock(name).read`. */
  <L extends Lease>(lock: Lockable<L>, options?: RequestLockOptions): Promise<L>
  /** Takes several locks as one: `app.locks.multi([…])`. */
  (lock: MultiLock, options?: RequestLockOptions): Promise<MultiLease>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The locks of the application. They are closed with it. */
    locks: Locks
  }
  interface FastifyRequest {
    /**
     * Takes a lock for this request, and resolves to its lease. The lock is released when the
     * handler has settled, and the response has finished or its connection is gone.
     * `lease.signal` also aborts when the client disconnects before the response has ended.
     * @throws RequestLockError with 423 when the lock is busy, with 503 when the store is away, and
     * with 499 when the client disconnects while the request waits.
     */
    lock: RequestLock
  }
}

/** What the plugin keeps of a request. */
interface Tracked {
  readonly progress: RequestProgress
  locks?: RequestLocks
}

const TRACKED = Symbol('@holdfast/fastify request')
/** Marks routes whose handlers the plugin follows. */
const FOLLOWED = Symbol('@holdfast/fastify route')

type TrackedRequest = FastifyRequest & { [TRACKED]: Tracked | null }

async function plugin(app: FastifyInstance, options: HoldfastFastifyOptions): Promise<void> {
  if (app.hasDecorator('locks')) throw alreadyThere()
  const { store, locksOptions, defaults, closeGraceMs } = readOptions(options)
  const locks = createLocks(store, locksOptions)
  const shared: Shared = { locks, defaults, holding: new Set() }
  app.decorate('locks', locks)
  app.decorateRequest(TRACKED, null)
  app.decorateRequest('lock', requestLock(shared))
  followRequests(app)
  app.addHook('onClose', async () => {
    for (const request of shared.holding) request.holdThroughClose()
    await locks.close({ graceMs: closeGraceMs })
  })
}

function followRequests(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { handler } = route
    route.config = Object.assign({ ...route.config }, { [FOLLOWED]: true })
    route.handler = function follow(request, reply) {
      const call = (): unknown => handler.call(this, request, reply)
      const tracked = (request as unknown as TrackedRequest)[TRACKED]
      return tracked === null ? call() : tracked.progress.follow(call)
    }
  })
  app.addHook('onRequest', (request, reply, done) => {
    track(request, reply)
    done()
  })
  app.addHook('onSend', (request, _reply, _payload, done) => {
    ;(request as TrackedRequest)[TRACKED]?.progress.noteReply()
    done()
  })
  app.addHook('onError', (request, _reply, error, done) => {
    // Fastify has answered instead of the handler, which still works.
    if (error.code === 'FST_ERR_HANDLER_TIMEOUT')
      (request as TrackedRequest)[TRACKED]?.locks?.abort(error)
    done()
  })
}

function track(request: FastifyRequest, reply: FastifyReply): void {
  ;(request as TrackedRequest)[TRACKED] = { progress: new RequestProgress(request, reply) }
}

function requestLock(shared: Shared): RequestLock {
  async function takeLock(
    this: FastifyRequest,
    lock: unknown,
    options: RequestLockOptions = {},
  ): Promise<Lease | MultiLease> {
    const route = `${this.method} ${this.routeOptions.url ?? this.url}`
    const tracked = (this as TrackedRequest)[TRACKED]
    if (this.is404) throw noRoute()
    if (tracked === null || !(FOLLOWED in this.routeOptions.config)) throw unseenHandler(route)
    tracked.locks ??= new RequestLocks(shared, route, tracked.progress)
    return tracked.locks.take(lock, options)
  }
  return takeLock as unknown as RequestLock
}

function noRoute(): LockUsageError {
  return new LockUsageError(
    'request.lock works in routes and their hooks, and not for a request without a route.',
  )
}

function alreadyThere(): LockUsageError {
  return new LockUsageError(
    'app.locks exists already. Register @holdfast/fastify once, in the scope of all routes that lock: plugins inside of it have app.locks too.',
  )
}

/**
 * The plugin for Fastify 5: `await app.register(holdfastFastify, { store })`, before the routes.
 */
export const holdfastFastify: FastifyPluginAsync<HoldfastFastifyOptions> = fastifyPlugin(plugin, {
  fastify: '5.x',
  name: '@holdfast/fastify',
})
