/** What endpoints answer when something is wrong, and what a store over HTTP is given. */
import { Redis as Upstash } from '@upstash/redis'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { openStore } from 'holdfast/url'
import { expect, test, vi } from 'vitest'
import { after, makeClaim, openOver, startBridge, take, TRY } from './world.js'

const ANSWERS = [
  [401, '{"error":"Unauthorized"}', 'STORE_AUTH', 'refuses the token'],
  [429, 'slow down', 'STORE_UNAVAILABLE', 'HTTP 429'],
  [307, '', 'STORE_UNAVAILABLE', 'redirects elsewhere'],
  [502, '<html>', 'STORE_UNAVAILABLE', 'HTTP 502'],
  [200, '<html>', 'STORE_UNAVAILABLE', 'HTTP 200'],
  [
    400,
    '{"error":"OOM command not allowed, command was: [\\"EVAL\\",\\"secret\\"]"}',
    'STORE_UNAVAILABLE',
    'out of memory',
  ],
] as const

test.each(ANSWERS)('an answer %s %s rejects with %s', async (status, body, code, text) => {
  const bridge = await startBridge()
  const store = openOver(bridge)
  await take(store, makeClaim('warm'))
  bridge.answer = () => ({ status, body })
  const error: unknown = await take(store, makeClaim('a')).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code, message: expect.stringContaining(text) as string })
  const shown = JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error)
  expect([shown.includes(bridge.token), shown.includes('secret')]).toEqual([false, false])
})

test('an endpoint that is not there rejects at once, and works when it is', async () => {
  const store = openOver({ url: 'http://127.0.0.1:1', token: 'secret' })
  const failed = expect(store.attempt(makeClaim('a'), TRY)).rejects
  await failed.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('the probe names what the server lacks, and no lock is tried', async () => {
  const bridge = await startBridge()
  bridge.answer = () => ({ status: 200, body: '{"result":"struct, TIME"}' })
  await expect(openOver(bridge).attempt(makeClaim('a'), TRY)).rejects.toMatchObject({
    code: 'STORE_CONFIG',
    message: expect.stringContaining('lacks what the scripts need: struct, TIME') as string,
  })
  expect(bridge.requests).toHaveLength(1)
})

test('options that make no sense are refused, and no error shows a token', () => {
  const url = 'https://name.upstash.io'
  const wrong: [RedisStoreOptions, string][] = [
    [{}, 'UPSTASH_REDIS_REST_URL'],
    [{ url }, 'UPSTASH_REDIS_REST_TOKEN'],
    [{ url: 'https://:secret@name.upstash.io', token: 'secret' }, 'without a token'],
    [{ url: 'redis://name', token: 'secret' }, 'endpoint such as'],
    [{ url, token: 'secret with blank' }, 'without blanks'],
    [{ url, token: 'secret', minReplicas: 1 }, 'minReplicas'],
    [{ url, token: 'secret', subscribe: 1 as never }, 'subscribe'],
    [{ client: { call: () => undefined } as never, url, token: 'secret' }, 'not both'],
  ]
  for (const [options, text] of wrong) {
    const open = (): unknown => redisStore(options)
    expect(open).toThrow(text)
    expect(open).not.toThrow('secret')
  }
})

test('the environment names endpoint and token, and no other endpoint gets that token', async () => {
  const bridge = await startBridge()
  vi.stubEnv('UPSTASH_REDIS_REST_URL', bridge.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', bridge.token)
  after(() => vi.unstubAllEnvs())
  await take(redisStore({}), makeClaim('a'))
  expect(() => redisStore({ url: 'https://name.upstash.io' })).toThrow('pass its own token')
})

test('a client of @upstash/redis gives its settings, and nothing is sent through it', async () => {
  const bridge = await startBridge()
  const client = new Upstash({ url: bridge.url, token: bridge.token })
  const request = vi.spyOn((client as unknown as { client: { request(): void } }).client, 'request')
  const store = redisStore({ client })
  await take(store, makeClaim('a'))
  expect(request).not.toHaveBeenCalled()
  expect(await client.exists('hf:{a}')).toBe(1)
  const own = new Upstash({ request: async () => ({}) })
  expect(() => redisStore({ client: own })).toThrow('shows no url and token')
})

test('openStore takes the token from the URL, from a file or from the environment', async () => {
  const bridge = await startBridge()
  const place = bridge.url.replace('http://', '')
  const store = await openStore(`http://:${bridge.token}@${place}/?prefix=p`)
  await take(store, makeClaim('a'))
  expect(bridge.requests.at(-1)?.command[3]).toBe('p:{a}')
  await store.close()
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', bridge.token)
  after(() => vi.unstubAllEnvs())
  const second = await openStore(bridge.url)
  await take(second, makeClaim('b'))
  await second.close()
  for (const [url, text] of [
    ['https://secret@name.upstash.io', 'without a colon'],
    ['https://:secret@name.upstash.io?tls=1', 'known here are'],
    ['https://:secret@name.upstash.io?tokenFile=/none', 'names a file of one'],
    ['https://:%secret@name.upstash.io', 'starts no escape'],
  ] as const) {
    const error: unknown = await openStore(url).catch((caught: unknown) => caught)
    expect(String(error)).toContain(text)
    expect(String(error)).not.toContain('secret')
  }
})
