/** The console in the frameworks that people have: each mount behaves alike. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Module } from '@nestjs/common'
import { NestFactory, type AbstractHttpAdapter } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createLocks } from 'holdfast'
import { locksConsole, type Access, type LocksConsole } from 'holdfast/console'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'
import { after } from '../support/after.js'
import { isFull } from '../support/plan.js'

/** Its types are those of 5, as far as this test goes. */
const express4 = createRequire(import.meta.url)('express4') as typeof express

/** Mounts a console at `/locks`, and resolves to the port. */
type Mount = (page: LocksConsole) => Promise<number>

async function portOf(server: Server): Promise<number> {
  if (!server.listening) await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const MOUNTS: readonly [name: string, mount: Mount][] = [
  [
    'node:http',
    (page) => portOf(createServer((req, res) => page.node(req, res)).listen(0, '127.0.0.1')),
  ],
  [
    'Express behind a body parser',
    (page) => {
      const app = express()
      app.use(express.json())
      app.use('/locks', (req, res) => page.node(req, res))
      return portOf(app.listen(0, '127.0.0.1'))
    },
  ],
  [
    'Express without a body parser',
    (page) => {
      const app = express()
      app.all(['/locks', '/locks/{*rest}'], (req, res) => page.node(req, res))
      return portOf(app.listen(0, '127.0.0.1'))
    },
  ],
  [
    'Express 4 behind a body parser',
    (page) => {
      const app = express4()
      app.use(express4.json())
      app.use('/locks', (req, res) => page.node(req, res))
      return portOf(app.listen(0, '127.0.0.1'))
    },
  ],
  [
    'Express 4 without a body parser',
    (page) => {
      const app = express4()
      app.all(/^\/locks(\/|$)/, (req, res) => page.node(req, res))
      return portOf(app.listen(0, '127.0.0.1'))
    },
  ],
  [
    'Fastify',
    async (page) => {
      const app = fastify()
      app.all('/locks*', (request, reply) => {
        reply.hijack()
        page.node(Object.assign(request.raw, { body: request.body }), reply.raw)
      })
      await app.listen({ port: 0, host: '127.0.0.1' })
      after(() => app.close())
      return (app.server.address() as AddressInfo).port
    },
  ],
  [
    'Hono',
    (page) => {
      const app = new Hono()
      app.all('/locks/*', (c) => page.fetch(c.req.raw, c.req.raw))
      return portOf(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
    },
  ],
  [
    'a catch-all route, as Next has them',
    (page) => {
      const GET = (request: Request): Promise<Response> => page.fetch(request, request)
      const [POST, HEAD] = [GET, GET]
      const routes: Record<string, typeof GET> = { GET, POST, HEAD }
      const answer = (request: Request): Promise<Response> | Response =>
        routes[request.method]?.(request) ?? new Response(null, { status: 405 })
      return portOf(serve({ fetch: answer, port: 0, hostname: '127.0.0.1' }) as Server)
    },
  ],
  ['Nest on Express', (page) => nestPortOf(page, new ExpressAdapter())],
  ['Nest on Fastify', (page) => nestPortOf(page, new FastifyAdapter())],
]

async function nestPortOf(page: LocksConsole, adapter: AbstractHttpAdapter): Promise<number> {
  class AppModule {
    configure(): void {}
  }
  Module({})(AppModule)
  const app = await NestFactory.create(AppModule, adapter, { logger: false })
  app.use('/locks', (req: IncomingMessage, res: never) => page.node(req, res))
  await app.listen(0, '127.0.0.1')
  after(() => app.close())
  return (app.getHttpServer().address() as AddressInfo).port
}

// Express alone in the usual plan: the mounts differ in what they do to paths and bodies.
describe.each(isFull() ? MOUNTS : MOUNTS.slice(1, 2))('%s', (_, mount) => {
  test('serves the page and the views, steals, and refuses what authorize refuses', async () => {
    const locks = createLocks(memoryStore())
    after(() => locks.close())
    const lease = await locks.mutex('a').acquire()
    const page = locksConsole({
      locks,
      readOnly: false,
      authorize(_request, context): Access {
        const { headers } = context as Request | IncomingMessage
        const session = headers instanceof Headers ? headers.get('x-session') : headers['x-session']
        return session === 'right' && { user: 'ada', may: ['look', 'steal'] }
      },
    })
    after(() => page.close())
    const url = `http://127.0.0.1:${await mount(page)}/locks`
    const headers = { 'x-session': 'right' }
    const get = (path: string): Promise<Response> => fetch(`${url}${path}`, { headers })

    for (const path of ['', '/', '?lock=a']) {
      const html = await get(path)
      expect([html.status, html.headers.get('content-type')]).toEqual([
        ...[200, 'text/html; charset=utf-8'],
      ])
    }
    expect((await fetch(`${url}/api/view`)).status).toBe(403)
    const view = await get('/api/view?lock=a')
    const etag = view.headers.get('etag') ?? ''
    expect(await view.json()).toMatchObject({ user: 'ada', lock: { isFree: false } })
    expect(etag).toMatch(/^"/)
    const foreign = { ...headers, origin: 'https://evil.example' }
    expect((await fetch(`${url}/api/view`, { headers: foreign })).status).toBe(403)
    const stolen = await fetch(`${url}/api/steal`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'x-holdfast-console': '1' },
      body: JSON.stringify({
        ...{ lock: 'a', typed: 'a', claimId: lease.claimId, reason: 'hangs', now: true },
      }),
    })
    expect(await stolen.json()).toMatchObject({ outcome: 'stolen' })
    expect((await get('/api/view?lock=a')).status).toBe(200)
  })
})

test('authorize of Express may answer by itself, as with a redirect to a login', async () => {
  const locks = createLocks(memoryStore())
  const page = locksConsole({
    locks,
    authorize(_request, context) {
      const { res } = context as express.Request
      res?.redirect('/login')
      return false
    },
  })
  after(() => Promise.all([page.close(), locks.close()]))
  const app = express()
  app.use('/locks', (req, res) => page.node(req, res))
  const port = await portOf(app.listen(0, '127.0.0.1'))
  const answer = await fetch(`http://127.0.0.1:${port}/locks`, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/login'])
})
