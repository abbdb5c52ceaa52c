/** The conformance suite over a Redis Cluster, through ioredis5, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { clusterSubject } from './subjects/redis.js'
import { runner } from './runner.js'

const { subject, end } = await clusterSubject('ioredis5')

afterAll(end)
conformanceSuite(subject, runner)
