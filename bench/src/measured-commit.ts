/** Reads from git at which commit a result is measured. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What a file of results says of the state that it measured. */
export interface MeasuredCommit {
  /** Absent where the files did not come from git. */
  readonly commit?: string
  /** The sources had changes that no commit had. */
  readonly uncommitted?: true
}

/** Returns the output of git without its last line break; undefined where git fails. */
export function git(root: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trimEnd() : undefined
}

/** Returns the commit of this checkout, and whether the packages differ from it. */
export function measuredCommit(root: string = ROOT): MeasuredCommit {
  const commit = git(root, 'rev-parse', 'HEAD')
  if (commit === undefined) return {}
  const changes = git(root, 'status', '--porcelain', '--', 'packages')
  return { commit, ...(changes === '' ? {} : { uncommitted: true }) }
}
