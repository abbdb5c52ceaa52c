/** The conformance suite over a Redis server, through ioredis 5, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { redisSubject } from './subjects/redis.js'

const { subject, end } = await redisSubject('ioredis5')

afterAll(end)
conformanceSuite(subject, { describe, test, skip: test.skip })
