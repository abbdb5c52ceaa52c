/** A look at many locks leaves the server time for others. */
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { expect, test } from 'vitest'
import { closing, connectTo, startServer } from './support/world.js'

test('a script call describes at most 15 locks, so that other calls come between', async () => {
  const server = await startServer()
  const store = closing(redisStore({ client: connectTo(server.url) }))
  const locks = createLocks(store)
  const names = Array.from({ length: 61 }, (_, index) => `lock ${index}`)
  await Promise.all(names.map((name) => locks.mutex(name).acquire()))
  // The script is known to the server from here on.
  await store.inspect(['lock 0'])
  const before = await server.scriptCalls()
  expect(await store.inspect(names)).toHaveLength(61)
  expect((await server.scriptCalls()) - before).toBe(5)
  await locks.close()
})
