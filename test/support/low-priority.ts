/**
 * Gives the process of this test file the processor time that the others leave. Its tests compute
 * in virtual time, while the others wait for servers in real time.
 */
import { setPriority } from 'node:os'

const LOW = 10

setPriority(LOW)
