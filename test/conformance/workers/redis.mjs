/** A process of its own that opens the Redis store with the library and at the address it is given. */
import { serveWorker } from 'holdfast/conformance'
import { redisStore } from 'holdfast/redis'
import { openClient } from '../../servers/redis-clients.mjs'

const [library, url, mode = 'scripts'] = process.argv.slice(2)
await serveWorker(() => redisStore({ client: openClient(library, url).client, mode }))
