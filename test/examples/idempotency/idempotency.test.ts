/** Payments under an idempotency key: what charges once, under which faults, and what does not. */
import { startPostgres } from '@holdfast/servers/postgres'
import { startRedis } from '@holdfast/servers/redis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Program } from '../programs.js'
import { Provider } from './provider.js'

const SERVER = 'examples/idempotency/server.mjs'
const WRONG_WAYS = 'test/examples/idempotency/wrong-ways.mjs'

/** The services, each with a fresh database. */
const SERVICES = {
  async Redis() {
    const redis = await startRedis()
    return { url: redis.url, stop: () => redis.stop() }
  },
  async PostgreSQL() {
    const postgres = await startPostgres()
    return { url: postgres.url, stop: () => postgres.remove() }
  },
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly isReplay: boolean
}

async function pay(program: Program, key: string, amount = 5): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${await program.port()}/payments`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key ? { 'Idempotency-Key': key } : {}) },
    body: JSON.stringify({ amount }),
  })
  const isReplay = answer.headers.get('idempotent-replayed') === 'true'
  return { status: answer.status, text: await answer.text(), isReplay }
}

/** Sends the request again while the lock is busy, as `Retry-After` asks. */
async function payPatiently(program: Program, key: string): Promise<Answer> {
  for (;;) {
    const answer = await pay(program, key)
    if (answer.status !== 423) return answer
    await sleep(1000)
  }
}

/** Kills a server that has charged and not yet heard of it, and sends the request to another. */
async function crash(path: string, key: string, takesKeys: boolean, env: NodeJS.ProcessEnv) {
  const provider = await Provider.start({ takesKeys })
  const own = { ...env, ...provider.env }
  const dying = new Program(path, own)
  const held = provider.holdAnswers()
  const lost = pay(dying, key).catch(() => 'no answer')
  await held.reached
  await dying.kill()
  expect(await lost).toBe('no answer')
  provider.answerAtOnce()
  const next = new Program(path, own)
  return { provider, next, retry: await payPatiently(next, key) }
}

describe.each(Object.entries(SERVICES))('over %s', (_, start) => {
  let service: Awaited<ReturnType<typeof start>>
  const STORE = (): NodeJS.ProcessEnv => ({ STORE: service.url })

  beforeAll(async () => {
    service = await start()
  })
  afterAll(() => service.stop())

  test.each([true, false])(
    'retries at one time charge once, and get the stored outcome; the provider takes keys: %s',
    async (takesKeys) => {
      const provider = await Provider.start({ takesKeys })
      const env = { ...STORE(), ...provider.env }
      const servers = [new Program(SERVER, env), new Program(SERVER, env)] as const
      const keys = ['a', 'b', 'c'].map((key) => `${key}-${takesKeys}`)
      const sent = keys.flatMap((key) =>
        Array.from({ length: 4 }, (_, index) => pay(servers[index % 2 === 0 ? 0 : 1], key)),
      )
      const answers = await Promise.all(sent)
      for (const [index, key] of keys.entries()) {
        const own = answers.slice(4 * index, 4 * index + 4)
        const text = JSON.stringify({ charge: `${key}-1` })
        expect(own.map((answer) => [answer.status, answer.text])).toEqual(
          own.map(() => [201, text]),
        )
        expect(own.filter(({ isReplay }) => !isReplay)).toHaveLength(1)
      }
      expect([...provider.charges]).toEqual(expect.arrayContaining(keys.map((key) => [key, 1])))
      expect(await pay(servers[1], keys[0] ?? '')).toMatchObject({ status: 201, isReplay: true })
      expect((await pay(servers[0], keys[0] ?? '', 6)).status).toBe(422)
      expect((await pay(servers[0], '')).status).toBe(400)
    },
  )

  test('the lock alone charges each retry', async () => {
    const provider = await Provider.start({ takesKeys: false })
    const server = new Program(WRONG_WAYS, { ...STORE(), ...provider.env, WAY: 'lock alone' })
    const answers = await Promise.all([1, 2, 3].map(() => payPatiently(server, 'alone')))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(provider.charges.get('alone')).toBe(3)
  })

  describe('a server that dies after the charge, before the outcome is stored', () => {
    test('charges once where the provider takes keys, and the retry gets the outcome', async () => {
      const { provider, next, retry } = await crash(SERVER, 'keys', true, STORE())
      expect(retry).toMatchObject({ status: 201, isReplay: false })
      expect(await pay(next, 'keys')).toMatchObject({ status: 201, isReplay: true })
      expect(provider.charges.get('keys')).toBe(1)
    })

    test('charges once where the provider takes none, and the outcome is unknown', async () => {
      const { provider, next, retry } = await crash(SERVER, 'none', false, STORE())
      expect(retry.status).toBe(409)
      expect((await pay(next, 'none')).status).toBe(409)
      expect(provider.charges.get('none')).toBe(1)
    })

    test('charges twice where the provider takes none, and a begun payment is charged again', async () => {
      const { provider, retry } = await crash(WRONG_WAYS, 'twice', false, {
        ...STORE(),
        WAY: 'lock and outcome',
      })
      expect(retry).toMatchObject({ status: 201, isReplay: false })
      expect(provider.charges.get('twice')).toBe(2)
    })
  })

  test.each([true, false])(
    'a server that is paused for longer than its lease charges once; the provider takes keys: %s',
    async (takesKeys) => {
      const key = `paused-${takesKeys}`
      const provider = await Provider.start({ takesKeys })
      const env = { ...STORE(), ...provider.env }
      const [paused, other] = [new Program(SERVER, env), new Program(SERVER, env)]
      const held = provider.holdAnswers()
      const first = pay(paused, key)
      await held.reached
      paused.pause()
      provider.answerAtOnce()
      const retry = await payPatiently(other, key)
      expect(retry.status).toBe(takesKeys ? 201 : 409)
      held.open()
      paused.resume()
      expect((await first).status).toBe(201)
      expect(provider.charges.get(key)).toBe(1)
      expect(await pay(other, key)).toMatchObject({ status: 201, isReplay: true })
    },
  )
})
