/** The conformance suite over the memory store. */
import { conformanceSuite } from 'holdfast/conformance'
import { memorySubject, virtualMemorySubject } from './subjects/memory.js'
import { runner } from './runner.js'

conformanceSuite(memorySubject(), runner)
conformanceSuite(virtualMemorySubject(), runner)
