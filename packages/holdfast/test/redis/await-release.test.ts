/** `awaitRelease: false`, in a process that ends as soon as `run` has resolved. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import type { RedisServer } from '@holdfast/servers/redis'
import { isFull } from '../../../../test/support/plan.js'
import {
  closing,
  connectTo,
  LIBRARIES,
  openStore,
  openStoreOn,
  startServer,
  startTestCluster,
  startTestSentinels,
  whereIs,
  type Library,
} from './support/world.js'

const PROGRAM = fileURLToPath(new URL('./support/exit-at-once.mjs', import.meta.url))

async function runAndExit(library: Library, ...where: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [PROGRAM, library, ...where])
}

/** No lock is left when the servers have read what was written. */
async function expectFree(store: Store): Promise<void> {
  const locks = createLocks(store)
  await eventually(
    'all locks are free',
    async () => {
      const all = await Promise.all(
        ['one', 'two', 'three'].map((name) => locks.mutex(name).inspect()),
      )
      return all.every(({ holders }) => holders.length === 0)
    },
    { withinMs: 5000 },
  )
}

test.each(LIBRARIES)('releases of %s are written when run resolves', async (library) => {
  const server = await startServer()
  await runAndExit(library, server.url)
  await expectFree(openStore(server))
})

test.skipIf(!isFull()).each(LIBRARIES)(
  'so are those of %s for Sentinels, a Cluster and Redlock',
  async (library) => {
    const group = await startTestSentinels()
    await runAndExit(library, whereIs(group))
    await expectFree(openStore(await group.primary()))

    const cluster = await startTestCluster()
    await runAndExit(library, whereIs(cluster))
    await expectFree(await openStoreOn(cluster, 'ioredis5'))

    const servers = await Promise.all([startServer(), startServer(), startServer()])
    await runAndExit(library, ...servers.map(({ url }) => url))
    for (const { url } of servers) await expectFree(closing(redisStore({ client: connectTo(url) })))
    expect(servers).toHaveLength(3)
  },
  120_000,
)

/** Starts to count the calls of scripts at the server. */
async function countCalls(server: RedisServer): Promise<() => Promise<number>> {
  const before = await server.scriptCalls()
  return async () => (await server.scriptCalls()) - before
}

test.each([
  ['one lock', 1, 100],
  ['512 locks in turn', 512, 600],
])('a loop of run on %s makes one call a pair', async (_what, names, pairs) => {
  const server = await startServer()
  const client = connectTo(server.url, 'ioredis5')
  const locks = createLocks(closing(redisStore({ client })), { awaitRelease: false })
  await locks.mutex('first').run(() => undefined)
  const counted = await countCalls(server)
  for (let pair = 0; pair < pairs; pair += 1)
    await locks.mutex(`lock:${pair % names}`).run(() => undefined)
  await locks.close()
  // The releases of the first and the last lock travel alone. A renewal may come between.
  expect(await counted()).toBeLessThanOrEqual(pairs + 4)
})
