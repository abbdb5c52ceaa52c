/** The conformance suite over a Redis primary behind Sentinels, through redis5, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { sentinelSubject } from './subjects/redis.js'

const { subject, end } = await sentinelSubject('redis5')

afterAll(end)
conformanceSuite(subject, { describe, test, skip: test.skip })
