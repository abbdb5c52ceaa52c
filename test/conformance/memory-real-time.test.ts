/** The conformance suite over the memory store in real time. */
import { conformanceSuite } from '@holdfast/conformance'
import { memorySubject } from './subjects/memory.js'
import { runner } from './runner.js'

conformanceSuite(memorySubject(), runner)
