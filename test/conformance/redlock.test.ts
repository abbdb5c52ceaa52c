/** The conformance suite over five independent Redis servers, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { redlockSubject } from './subjects/redlock.js'
import { runner } from './runner.js'

const { subject, end } = await redlockSubject()

afterAll(end)
conformanceSuite(subject, runner)
