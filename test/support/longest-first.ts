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
    const rank = (file: TestSpecification): readonly [number, number] => [
      file.project.config.sequence.groupOrder,
      -(seconds.get(relative(root, file.moduleId)) ?? UNKNOWN_SECONDS),
    ]
    const ranked = files.map((file) => ({ file, rank: rank(file) }))
    ranked.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1])
    return Promise.resolve(ranked.map(({ file }) => file))
  }
}
