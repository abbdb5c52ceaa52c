/** The conformance suite over the embedded store, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { embeddedSubject } from './subjects/embedded.js'
import { runner } from './runner.js'

const { subject, remove } = embeddedSubject()

afterAll(remove)
conformanceSuite(subject, runner)
