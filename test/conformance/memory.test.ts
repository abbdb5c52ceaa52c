/** The conformance suite over the memory store in virtual time. */
import { conformanceSuite } from '@holdfast/conformance'
import { virtualMemorySubject } from './memory-subjects.js'
import { runner } from './runner.js'

conformanceSuite(virtualMemorySubject(), runner)
