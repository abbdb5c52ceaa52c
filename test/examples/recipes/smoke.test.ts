/** The programs of the recipes, as processes over one Redis. */
import { startRedis } from '@holdfast/servers/redis'
import { Queue } from 'bullmq'
import { expect, test } from 'vitest'
import { after } from '../../support/after.js'
import { Provider } from '../idempotency/provider.js'
import { Program } from '../programs.js'

const SERVERS = [
  'examples/http/express.mjs',
  'examples/http/hono.mjs',
  'test/examples/recipes/route-server.mjs',
]

test('of two requests for one order, each server pays one and answers 423 to the other; the worker makes all invoices; two requests of one payment charge once', async () => {
  const redis = await startRedis()
  after(() => redis.stop())
  const env = { REDIS_URL: redis.url, STORE: redis.url }
  const provider = await Provider.start({ takesKeys: false })
  const servers = SERVERS.map((path) => new Program(path, env))
  const payments = new Program('examples/idempotency/server.mjs', { ...env, ...provider.env })
  const worker = new Program('examples/jobs/invoices.mjs', env)

  const statuses = servers.map(async (server, order) => {
    const url = `http://127.0.0.1:${await server.port()}/orders/${order}/pay`
    const answers = await Promise.all([1, 2].map(() => fetch(url, { method: 'POST' })))
    await server.prints(`order ${order} is paid`)
    return answers.map(({ status }) => status).toSorted((one, other) => one - other)
  })
  expect(await Promise.all(statuses)).toEqual(SERVERS.map(() => [200, 423]))

  const charged = await Promise.all([1, 2].map(() => charge(payments)))
  expect(charged).toEqual([1, 2].map(() => [201, '{"charge":"once-1"}']))
  expect(provider.charges.get('once')).toBe(1)

  const queue = new Queue('invoices', { connection: { url: redis.url } })
  after(() => queue.close())
  const jobs = ['ada', 'ada', 'bob'].map((customer, number) => ({
    name: 'make',
    data: { customer, number },
  }))
  await queue.addBulk(jobs)
  for (const { data } of jobs) await worker.prints(`${data.customer}: invoice ${data.number}`)
  const ended = [...servers, payments, worker].map((program) => program.end())
  expect(await Promise.all(ended)).toEqual([0, 0, 0, 0, 0])
})

async function charge(payments: Program): Promise<[status: number, text: string]> {
  const answer = await fetch(`http://127.0.0.1:${await payments.port()}/payments`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'once' },
    body: '{"amount":5}',
  })
  return [answer.status, await answer.text()]
}
