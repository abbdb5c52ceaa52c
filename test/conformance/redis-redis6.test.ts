/** The conformance suite over a Redis server, through node-redis 6, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { redisSubject } from './subjects/redis.js'
import { runner } from './runner.js'

const { subject, end } = await redisSubject('redis6')

afterAll(end)
conformanceSuite(subject, runner)
