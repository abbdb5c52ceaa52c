/** Two runs inside of runs, in opposite order. */
import { expect } from 'vitest'
import { BIN, type Box } from './holdfast.js'
import type { Program } from './program.js'

/** Checks that one of them ends, so that the other gets its lock. */
export async function expectOneToEnd(
  box: Box,
  env: Record<string, string | undefined> = {},
): Promise<void> {
  const nested = (outer: string, inner: string): Program => {
    const meet = `touch ${outer}; while [ ! -e ${inner} ]; do sleep 0.02; done`
    const script = `${meet}; exec "${process.execPath}" "${BIN}" run ${inner} -- echo both`
    return box.holdfast(['run', outer, '--', 'sh', '-c', script], { env, cwd: box.folder })
  }
  const runs = [nested('a', 'b'), nested('b', 'a')]
  const codes = await Promise.all(runs.map((run) => run.code()))
  expect(codes.toSorted()).toEqual([0, 75])
  const failed = runs[codes.indexOf(75)]
  expect(failed?.stderr).toMatch(/would never end: .* holds "[ab]" and waits for "[ab]"/)
  expect(failed?.stderr).toContain('in the same order of locks')
}
