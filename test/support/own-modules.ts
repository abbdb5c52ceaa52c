/**
 * Gives this test file its own copies of the modules of the tests: their hooks and their state.
 * Files that share a process share what Node loads: the libraries and the built packages.
 */
import { vi } from 'vitest'

vi.resetModules()
