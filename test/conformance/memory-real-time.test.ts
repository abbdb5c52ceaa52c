/** The conformance suite over the memory store in real time. */
import { conformanceSuite } from '@holdfast/conformance'
import { memorySubject } from './memory-subjects.js'
import { runner } from './runner.js'

conformanceSuite(memorySubject(), runner)
