/** `POST /payments` with an `Idempotency-Key`. */
import { holdfastFastify } from '@holdfast/fastify'
import Fastify from 'fastify'
import { payOnce } from './pay-once.mjs'

const PAYMENT = {
  type: 'object',
  required: ['amount'],
  properties: { amount: { type: 'integer', minimum: 1 } },
}

/** @param pay what a request does under the lock of its key */
export async function paymentsApp({ store, outcomes, provider, pay = payOnce }) {
  const app = Fastify()
  // A retry waits for the request before it. After a crash the lock is free within `ttlMs`.
  await app.register(holdfastFastify, { store, waitMs: 5_000, ttlMs: 5_000 })

  app.post('/payments', { schema: { body: PAYMENT } }, async (request, reply) => {
    const key = request.headers['idempotency-key']
    if (typeof key !== 'string')
      return reply.code(400).send({ error: 'Idempotency-Key is missing.' })
    const lease = await request.lock(`payment:${key}`)
    const payment = JSON.stringify(request.body)
    const { status, body, isReplay } = await pay({ outcomes, provider }, key, payment, lease)
    if (isReplay) reply.header('Idempotent-Replayed', 'true')
    return reply.code(status).send(body)
  })
  return app
}
