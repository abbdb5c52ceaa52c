/** Orders that are paid one request at a time, with Express 5: `node express.mjs`. */
import express from 'express'
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { locked } from './express-lock.mjs'
import { pay } from './pay.mjs'

const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379')
const locks = createLocks(redisStore({ client }))

const app = express()
app.post(
  '/orders/:id/pay',
  express.json(),
  locked(
    locks,
    (req) => `order:${req.params.id}`,
    async (req, res, { lease, signal }) => {
      await pay(req.params.id, { signal, token: lease.token })
      res.json({ paid: true })
    },
  ),
)

const server = app.listen(Number(process.env.PORT ?? 3000), () =>
  console.log(`listening on ${server.address().port}`),
)

async function end() {
  await locks.close()
  client.disconnect()
}

process.once('SIGTERM', () => server.close(() => void end()))
