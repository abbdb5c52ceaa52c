/**
 * `node bench/dist/older-results.js [ROOT]`: names the recorded results that are older than the
 * last change of what they measure. It warns and never fails: after a change of the runtime, all
 * results are older until they are recorded again.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { git, ROOT, type MeasuredCommit } from './measured-commit.js'
import { MEASURED_SOURCES } from './measured-sources.js'

const FOLDER = 'bench/results'

const root = process.argv[2] ?? ROOT
if (git(root, 'rev-parse', '--is-shallow-repository') === 'false') {
  const names = readdirSync(join(root, FOLDER)).filter((file) => file.endsWith('.json'))
  const lines = names.toSorted().flatMap((file) => warningsOf(file.replace(/\.json$/, '')))
  if (lines.length === 0) console.log('No result is older than what it measures.')
  for (const line of lines) console.log(line)
} else {
  console.log('No git history here: nothing shows how old the recorded results are.')
}

function warningsOf(name: string): string[] {
  const path = `${FOLDER}/${name}.json`
  const { commit, uncommitted } = JSON.parse(
    readFileSync(join(root, path), 'utf8'),
  ) as MeasuredCommit
  const { from, said } = startOf(path, commit)
  const log = from && git(root, 'log', '--format=%h %s', `${from}..HEAD`, '--', ...sourcesOf(name))
  const changes = log ? log.split('\n') : []
  return [
    ...(uncommitted ? [`${name}: measured with changes that were not committed.`] : []),
    ...(changes[0] === undefined
      ? []
      : [`${name}: ${said}; ${changes.length} newer in its sources, the last ${changes[0]}`]),
  ]
}

interface Start {
  /** The commit from which changes count; undefined for a file that no commit has. */
  readonly from: string | undefined
  readonly said: string
}

/** Without a known commit it is the one that recorded the file: what was measured is no newer. */
function startOf(path: string, commit: string | undefined): Start {
  if (commit !== undefined && git(root, 'cat-file', '-e', `${commit}^{commit}`) !== undefined)
    return { from: commit, said: `measured at ${commit.slice(0, 8)}` }
  const from = git(root, 'log', '-1', '--format=%H', '--', path) || undefined
  const why = commit === undefined ? 'names no commit' : 'names an unknown commit'
  return { from, said: `${why}, recorded in ${from?.slice(0, 8) ?? 'none'}` }
}

function sourcesOf(name: string): readonly string[] {
  const sources = MEASURED_SOURCES[name]
  if (sources === undefined)
    throw new Error(`measured-sources.ts does not know ${FOLDER}/${name}.json.`)
  return sources
}
