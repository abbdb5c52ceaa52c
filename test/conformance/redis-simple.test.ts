/** The conformance suite over the simple mode of the Redis store, through both client libraries, without scripts. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { simpleRedisSubject } from './subjects/redis-simple.js'

for (const library of ['ioredis6', 'redis6'] as const) {
  const { subject, end } = await simpleRedisSubject(library)
  afterAll(end)
  conformanceSuite(subject, { describe, test, skip: test.skip })
}
