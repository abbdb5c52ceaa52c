/** The command line over a Redis server that an endpoint over HTTP leads to. */
import { startRestBridge, type RestBridge } from '@holdfast/servers/redis-rest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'

let redis: RedisServer
let bridge: RestBridge

beforeAll(async () => {
  redis = await startRedis()
  bridge = await startRestBridge(redis.url)
})

afterAll(async () => {
  await bridge.stop()
  await redis.stop()
})

it('--store http://… locks with the token of the URL or of the environment', async () => {
  const box = new Box()
  const withToken = bridge.url.replace('http://', `http://:${bridge.token}@`)
  const run = (store: string, env: NodeJS.ProcessEnv = {}) =>
    box.holdfast(['run', 'a', '--store', store, '--', 'printenv', 'HOLDFAST_TOKEN'], { env })
  const first = run(withToken)
  expect(await first.code(), first.stderr).toBe(0)
  const second = run(bridge.url, { UPSTASH_REDIS_REST_TOKEN: bridge.token })
  expect(await second.code(), second.stderr).toBe(0)
  expect(Number(second.stdout)).toBeGreaterThan(Number(first.stdout))
  expect(bridge.requests.length).toBeGreaterThan(3)
})

it('a token that the endpoint refuses ends with advice, and is not shown', async () => {
  const before = bridge.answer
  bridge.answer = () => ({ status: 401, body: '{"error":"Unauthorized"}' })
  const store = bridge.url.replace('http://', 'http://:secret-token@')
  const run = new Box().holdfast(['run', 'a', '--store', store, '--', 'true'])
  expect(await run.code()).not.toBe(0)
  bridge.answer = before
  expect(run.stderr).toMatch(/refuses the token/)
  expect(run.stderr + run.stdout).not.toContain('secret-token')
})
