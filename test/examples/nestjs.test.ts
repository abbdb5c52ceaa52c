/** The shop on NestJS: two instances on one Redis, behind HTTP. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { createLocks, type Locks } from 'holdfast'
import { openStore } from 'holdfast/url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** In the repository, whose packages the program imports. */
const folder = join(ROOT, `build/nestjs-${process.pid}`)

/** Prints when locks are granted, in the process of an instance. */
const WATCH = `import { onLockEvent } from 'holdfast'
onLockEvent('granted', ({ lock }) => console.log('granted', lock, Date.now()))
`

class Instance {
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>
  output = ''

  constructor(process: ChildProcess) {
    this.#process = process
    this.#ended = once(process, 'close')
    for (const stream of [process.stdout, process.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
  }

  get url(): string {
    return /listening on (\S+)/.exec(this.output)?.[1] ?? ''
  }

  /** Returns the times at which this instance was granted a lock. */
  grantsOf(lock: string): number[] {
    const lines = this.output.matchAll(/^granted (\S+) (\d+)$/gm)
    return Array.from(lines, ([, name, ms]) => ({ name, ms: Number(ms) }))
      .filter(({ name }) => name === lock)
      .map(({ ms }) => ms)
  }

  ask(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.url}${path}`, init)
  }

  pay(key: string): Promise<Response> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    return this.ask('/payments/callback', { method: 'POST', headers, body: '{"amount":5}' })
  }

  terminate(): void {
    this.#process.kill('SIGTERM')
  }

  async end(): Promise<number | null> {
    await this.#ended
    return this.#process.exitCode
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }
}

let redis: RedisServer
let locks: Locks
let instances: Instance[]

beforeAll(async () => {
  mkdirSync(folder, { recursive: true })
  cpSync(join(ROOT, 'examples/nestjs/package.json'), join(folder, 'package.json'))
  writeFileSync(join(folder, 'watch.mjs'), WATCH)
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const args = [compiler, '-p', join(ROOT, 'examples/nestjs'), '--outDir', folder]
  await promisify(execFile)(process.execPath, args)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeEach(async () => {
  redis = await startRedis()
  locks = createLocks(await openStore(redis.url), { namespace: 'shop' })
  instances = []
})

afterEach(async () => {
  await Promise.all(instances.map((instance) => instance.kill()))
  redis.resume()
  await locks.close()
  await redis.stop()
})

async function start(env: NodeJS.ProcessEnv = {}): Promise<Instance> {
  const args = ['--import', './watch.mjs', 'shop.js']
  const instance = new Instance(
    spawn(process.execPath, args, {
      cwd: folder,
      env: { ...process.env, REDIS_URL: redis.url, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
  instances.push(instance)
  await expect.poll(() => instance.url, { timeout: 60_000 }).not.toBe('')
  return instance
}

async function waitersOf(lock: string): Promise<readonly unknown[]> {
  return (await locks.mutex(lock).inspect()).waiters
}

async function listed(key: string): Promise<string[]> {
  const reply = await redis.command('LRANGE', key, '0', '-1')
  return [...reply.matchAll(/^\$\d+\r\n(.*)\r$/gm)].map(([, text = '']) => text)
}

test('100 payments with three callbacks each, to two instances, are charged once each', async () => {
  const shops = await Promise.all([start(), start()])
  const keys = Array.from({ length: 100 }, (_, index) => `payment-${index}`)
  const deliver = async (key: string, shop: number): Promise<unknown> => {
    const answer = await (shops[shop] as Instance).pay(key)
    return { status: answer.status, outcome: await answer.json() }
  }
  const answers = keys.flatMap((key) => [0, 1, 0].map((shop) => deliver(key, shop)))
  const expected = keys.flatMap((charged) =>
    Array.from({ length: 3 }, () => ({ status: 200, outcome: { charged, amount: 5 } })),
  )
  expect(await Promise.all(answers)).toEqual(expected)
  expect((await listed('charges')).toSorted()).toEqual(keys.toSorted())
})

test('after SIGTERM a handler under a lock ends, and the next holder starts within 100 ms', async () => {
  const waits: number[] = []
  for (const round of [1, 2, 3]) {
    const key = `slow-${round}`
    const [ending, next] = await Promise.all([start({ CHARGE_MS: '1000' }), start()])
    const first = ending.pay(key)
    await expect.poll(() => ending.grantsOf(`shop:payment:${key}`)).toHaveLength(1)
    const second = next.pay(key)
    await expect.poll(() => waitersOf(`payment:${key}`)).toHaveLength(1)
    ending.terminate()
    expect((await first).status).toBe(200)
    const endedMs = Date.now()
    expect(await (await second).json()).toEqual({ charged: key, amount: 5 })
    const [startedMs = Infinity] = next.grantsOf(`shop:payment:${key}`)
    waits.push(startedMs - endedMs)
    await ending.end()
    expect(ending.output).not.toContain('Not all locks')
  }
  expect(await listed('charges')).toEqual(['slow-1', 'slow-2', 'slow-3'])
  console.log(`the next holder started ${waits.join(', ')} ms after the response`)
  expect(waits.toSorted((one, other) => one - other)[1]).toBeLessThan(100)
})

async function leads(shop: Instance): Promise<unknown> {
  return (await shop.ask('/leader')).json()
}

test('the leadership passes on when its instance ends', async () => {
  const [one, other] = await Promise.all([start(), start()])
  expect(await leads(one)).toEqual({ leads: true })
  expect(await leads(other)).toEqual({ leads: false })
  one.terminate()
  // Its lease would last for 30 s. A release that came after the client had been closed is lost.
  await expect.poll(() => leads(other), { timeout: 10_000 }).toEqual({ leads: true })
  await one.end()
  expect(one.output).not.toContain('Not all locks')
})

test.each([
  ['ended', () => redis.kill()],
  ['halted', async () => redis.pause()],
])('Terminus shows a Redis that was %s within 2 s', async (_, stop) => {
  const shop = await start()
  const health = async (): Promise<unknown> => (await shop.ask('/health')).status
  expect(await health()).toBe(200)
  await stop()
  const stoppedMs = performance.now()
  await expect.poll(health, { interval: 10, timeout: 10_000 }).toBe(503)
  expect(performance.now() - stoppedMs).toBeLessThan(2_000)
})

test('a cron job of two instances runs once in each slot', async () => {
  await Promise.all([start({ REPORT_CRON: '* * * * * *' }), start({ REPORT_CRON: '* * * * * *' })])
  await expect.poll(() => listed('reports'), { timeout: 20_000 }).toHaveLength(3)
  const { locks: slots } = await locks.inspect({ prefix: 'Reports.write@tick:' })
  const reports = await listed('reports')
  // The run of the last slot may be on its way.
  expect(slots.length - reports.length).toBeLessThanOrEqual(1)
  expect(reports.length).toBeLessThanOrEqual(slots.length)
})
