/** Runs work under a lock without waiting for the release, and ends the process at once. */
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import { openAny } from '@holdfast/servers/redis-clients'

const [library, ...where] = process.argv.slice(2)
const opened = where.map((one) => openAny(library, one))
await Promise.all(opened.map(({ ready }) => ready))
const clients = opened.map(({ client }) => client)
const [client] = clients
const store = clients.length === 1 ? redisStore({ client }) : redlockStore({ clients })
const locks = createLocks(store)
const all = ['one', 'two', 'three'].map((name) =>
  locks.mutex(name).run(() => undefined, { awaitRelease: false }),
)
await Promise.all(all)
process.exit(0)
