/** A worker that opens the Redis store through the given library. */
import { serveWorker } from '@holdfast/conformance'
import { redisStore } from 'holdfast/redis'
import { openAny } from '@holdfast/servers/redis-clients'

const [library, where] = process.argv.slice(2)
await serveWorker(() => redisStore({ client: openAny(library, where).client }))
