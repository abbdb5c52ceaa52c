/** Vitest, as the conformance suite wants a runner. */
import type { Runner } from 'holdfast/conformance'
import { describe, test } from 'vitest'

export const runner: Runner = {
  describe,
  describeConcurrent: describe.concurrent,
  test,
  skip: test.skip,
}

/**
 * The short lease of stores that wait for servers or the disk: cases that run beside each other may
 * be late.
 */
export const SHORT_TTL_MS = 600
