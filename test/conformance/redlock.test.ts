/** The conformance suite over five independent Redis servers, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { redlockSubject } from './subjects/redlock.js'

const { subject, end } = await redlockSubject()

afterAll(end)
conformanceSuite(subject, { describe, test, skip: test.skip })
