/** The conformance suite over a Redis server, through ioredis 5, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { redisSubject } from './subjects/redis.js'
import { runner } from './runner.js'

const { subject, end } = await redisSubject('ioredis5')

afterAll(end)
conformanceSuite(subject, runner)
