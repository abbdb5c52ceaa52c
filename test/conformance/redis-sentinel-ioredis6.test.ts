/**
 * The conformance suite over a Redis primary behind Sentinels, through ioredis6, killed processes
 * included.
 */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { sentinelSubject } from './subjects/redis.js'
import { runner } from './runner.js'

const { subject, end } = await sentinelSubject('ioredis6')

afterAll(end)
conformanceSuite(subject, runner)
