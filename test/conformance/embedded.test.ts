/** The conformance suite over the embedded store, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { embeddedSubject } from './subjects/embedded.js'

const { subject, remove } = embeddedSubject()

afterAll(remove)
conformanceSuite(subject, { describe, test, skip: test.skip })
