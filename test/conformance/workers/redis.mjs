/**
 * A process of its own that opens the Redis store with the library and at the place it is given.
 */
import { serveWorker } from 'holdfast/conformance'
import { redisStore } from 'holdfast/redis'
import { openAny } from '@holdfast/servers/redis-clients'

const [library, where] = process.argv.slice(2)
await serveWorker(() => redisStore({ client: openAny(library, where).client }))
