/**
 * Lets the process of this test file have what the others leave of the processor: its tests compute
 * in virtual time, while the others wait for servers in real time.
 */
import { setPriority } from 'node:os'

const LOW = 10

setPriority(LOW)
