/** The conformance suite over a Redis server, through node-redis 5, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { redisSubject } from './subjects/redis.js'

const { subject, end } = await redisSubject('redis5')

afterAll(end)
conformanceSuite(subject, { describe, test, skip: test.skip })
