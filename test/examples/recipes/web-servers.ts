/** The recipes for frameworks, each behind a real server with one route: `POST /` and `GET /`. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import type { Server } from 'node:http'
import { serve } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import type { Lease, Locks } from 'holdfast'
import { locked } from '../../../examples/http/express-lock.mjs'
import { lockFor } from '../../../examples/http/hono-lock.mjs'
import { withLock } from '../../../examples/http/with-lock.mjs'
import { after } from '../../support/after.js'

export interface Held {
  readonly lease: Lease
  readonly signal: AbortSignal
}

/** What a handler does under the lock, and what it answers. */
export type Work = (held: Held) => Promise<string | ReadableStream<Uint8Array>>

export interface Options {
  readonly waitMs?: number
  readonly retryAfterMs?: number
}

/** Starts a server whose requests take the mutex `a`, and resolves to its port. */
type Start = (locks: Locks, work: Work, options?: Options) => Promise<number>

async function startExpress(locks: Locks, work: Work, options?: Options): Promise<number> {
  const app = express()
  app.use(express.json())
  const handler = locked(
    locks,
    () => 'a',
    async (_req: express.Request, res: express.Response, held: Held) => {
      const answer = await work(held)
      if (typeof answer === 'string') res.send(answer)
      else pipeline(Readable.fromWeb(answer as WebStream), res, () => undefined)
    },
    options,
  )
  app.all('/', handler)
  const answerError: express.ErrorRequestHandler = async (error: Error, _req, res, _next) => {
    res.status(500).send(await answerTo(error, locks))
  }
  app.use(answerError)
  return listening(app.listen(0, '127.0.0.1'))
}

async function startHono(locks: Locks, work: Work, options?: Options): Promise<number> {
  const app = new Hono<{ Variables: Held }>()
  app.onError(async (error, c) => c.text(await answerTo(error, locks), 500))
  app.all(
    '/',
    lockFor(locks, () => 'a', options),
    async (c) => new Response(await work({ lease: c.var.lease, signal: c.var.signal })),
  )
  return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
}

/** As Next calls a route handler, and answers 500 when it throws. */
async function startWeb(locks: Locks, work: Work, options?: Options): Promise<number> {
  const fetch = async (request: Request): Promise<Response> => {
    await request.clone().text()
    const answer = withLock(
      locks.mutex('a'),
      request,
      async (held: Held) => new Response(await work(held)),
      options,
    ) as Promise<Response>
    return answer.catch(
      async (error: Error) => new Response(await answerTo(error, locks), { status: 500 }),
    )
  }
  return listening(serve({ fetch, port: 0, hostname: '127.0.0.1' }) as Server)
}

/** Returns the answer to an error of a handler, and whether the lock is held meanwhile. */
async function answerTo(error: Error, locks: Locks): Promise<string> {
  const { holders } = await locks.mutex('a').inspect()
  return `${error.message}, ${holders.length === 0 ? 'released' : 'held'}`
}

async function listening(server: Server): Promise<number> {
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  if (!server.listening) await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

export const RECIPES: readonly (readonly [name: string, start: Start])[] = [
  ['Express', startExpress],
  ['Hono', startHono],
  ['route handlers', startWeb],
]
