/** Vitest as the runner of the conformance suite. */
import type { Runner } from '@holdfast/conformance'
import { describe, test } from 'vitest'

export const runner: Runner = {
  describe,
  describeConcurrent: describe.concurrent,
  test,
  skip: test.skip,
}

/** The short TTL of stores with servers or files: cases that run beside each other may be late. */
export const SHORT_TTL_MS = 600

/** How late results may come, where other suites share the machine. */
export const SLACK_MS = 10_000
