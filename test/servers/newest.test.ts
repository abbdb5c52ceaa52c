/**
 * A server that `HOLDFAST_NEWEST` names runs in the version that was fetched, not in the system's.
 */
import { newestVersion, usesNewest } from '@holdfast/servers/newest'
import { STORES } from '@holdfast/stores'
import { NEWEST_SERVERS } from '@holdfast/stores/newest'
import { expect, test } from 'vitest'

for (const server of NEWEST_SERVERS) {
  test.skipIf(!usesNewest(server))(
    `the newest ${server.name} reports the version that was fetched`,
    async () => {
      // Debian puts an epoch before it, and its own revision after it.
      const fetched = /^(?:\d+:)?(\d+(?:\.\d+)+)/.exec(newestVersion(server))?.[1]
      console.log(`${server.name} ${fetched}`)
      expect(fetched).toBeDefined()
      // The first store of a server has it to itself.
      const store = STORES.find(({ service }) => service.newest?.includes(server))
      const running = await store?.service.start()
      try {
        expect(await running?.version?.()).toContain(fetched)
      } finally {
        await running?.remove()
      }
    },
  )
}

test('servers have names of their own', () => {
  const names = NEWEST_SERVERS.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
})
