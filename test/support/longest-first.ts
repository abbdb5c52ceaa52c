/**
 * Begins with the test files that took longest, so that no worker runs a long one alone at the end.
 * Vitest's own order needs the results of an earlier run, which a clean clone lacks.
 *
 * `durations.json` has the recorded seconds; `node scripts/durations.mjs` writes it.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Of a file that was never recorded: it begins early, beside the long ones. */
const UNKNOWN_SECONDS = 10

const seconds = new Map<string, number>(
  Object.entries(
    JSON.parse(readFileSync(new URL('durations.json', import.meta.url), 'utf8')) as Record<
      string,
      number
    >,
  ),
)

export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = this.ctx.config.root
    const length = (file: TestSpecification): number =>
      seconds.get(relative(root, file.moduleId)) ?? UNKNOWN_SECONDS
    return Promise.resolve(files.toSorted((a, b) => length(b) - length(a)))
  }
}
