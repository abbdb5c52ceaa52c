/** The conformance suite over the memory store. */
import { conformanceSuite } from 'holdfast/conformance'
import { describe, test } from 'vitest'
import { memorySubject, virtualMemorySubject } from './subjects/memory.js'

const runner = { describe, test, skip: test.skip }

conformanceSuite(memorySubject(), runner)
conformanceSuite(virtualMemorySubject(), runner)
