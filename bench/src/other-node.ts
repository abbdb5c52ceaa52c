/** Finds the programs of other versions of Node. */
import { spawnSync } from 'node:child_process'

/** Returns the path of a version of Node, which npx fetches; undefined where that fails. */
export function nodeOf(version: string): string | undefined {
  if (process.versions.node.split('.')[0] === version) return process.execPath
  const args = ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath']
  const { status, stdout } = spawnSync('npx', args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
