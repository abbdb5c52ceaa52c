/** Orders that are paid one request at a time, with Hono on Node: `node hono.mjs`. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { lockFor } from './hono-lock.mjs'
import { pay } from './pay.mjs'

const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379')
const locks = createLocks(redisStore({ client }))

const app = new Hono()
app.post(
  '/orders/:id/pay',
  lockFor(locks, (c) => `order:${c.req.param('id')}`),
  async (c) => {
    await pay(c.req.param('id'), { signal: c.var.signal, token: c.var.lease.token })
    return c.json({ paid: true })
  },
)

const port = Number(process.env.PORT ?? 3000)
const server = serve({ fetch: app.fetch, port }, (at) => console.log(`listening on ${at.port}`))

async function end() {
  await locks.close()
  client.disconnect()
}

process.once('SIGTERM', () => server.close(() => void end()))
