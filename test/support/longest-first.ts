/**
 * Begins with the test files that took longest, so that no worker runs a long one alone at the end.
 * The short ones follow, project by project: a process can only be shared inside of a project.
 * Vitest's own order needs the results of an earlier run, which a clean clone lacks.
 *
 * `durations.json` has the recorded seconds; `node scripts/durations.mjs` writes it.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Of a file that was never recorded: it begins early, beside the long ones. */
const UNKNOWN_SECONDS = 10
/** Below this, the order matters less than the start of a process. */
const SHORT_SECONDS = 3

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
    const lengthOf = (file: TestSpecification): number =>
      seconds.get(relative(root, file.moduleId)) ?? UNKNOWN_SECONDS
    const isShort = (file: TestSpecification): boolean => lengthOf(file) < SHORT_SECONDS
    const long = files.filter((file) => !isShort(file))
    const short = files.filter(isShort)
    const projects = new Set(short.map((file) => file.project.name))
    return Promise.resolve([
      ...long.toSorted((a, b) => lengthOf(b) - lengthOf(a)),
      ...[...projects].flatMap((name) => short.filter((file) => file.project.name === name)),
    ])
  }
}
