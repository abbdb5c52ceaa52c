/**
 * Writes `docs/benchmarks.md` and the table of the READMEs from the recorded results: `npm run
 * bench:page`. With `--check` it only reports whether they are up to date.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { ENGLISH, CHINESE, withPeersTable } from './readme.js'
import { verdictOf, type Results } from './report.js'

const RESULTS = new URL('../results/', import.meta.url)
const ROOT = new URL('../../', import.meta.url)

const HEAD = `# Benchmarks

Made from \`bench/results/*.json\`, which \`npm run bench\` records. Subjects take turns, each in a
fresh process, in at least five rounds after a warm-up. The table shows medians, and ratios are
medians of the ratios within a round. A shared machine is faster in one minute than in the next, so
compare ratios rather than figures. On the hot lock of Redis the variants of the peers
(\`-defaults\`, \`-queued\`) take part in two of the rounds, and count in the others with their
median there.

A row that ends in *garbage* belongs to the row before it. It counts the bytes that one acquire and
release allocate on the JavaScript heap, and the share of the time for which the main thread stands
still for a collection, both in a run of its own.
`

function section({ suite, recorded, machine, rows }: Results): string {
  const lines = rows.map((row) =>
    [row.workload, row.measured, row.against, row.bar, verdictOf(row)].join(' | '),
  )
  return `
## ${suite}

Recorded ${recorded} on Node ${machine.node}, ${machine.platform}, ${machine.cores} cores.

| workload | Holdfast | against | must be | |
|---|---|---|---|---|
${lines.map((line) => `| ${line} |`).join('\n')}
`
}

function readResults(): Results[] {
  const files = readdirSync(RESULTS).filter((name) => name.endsWith('.json'))
  return files
    .toSorted()
    .map((name) => JSON.parse(readFileSync(new URL(name, RESULTS), 'utf8')) as Results)
}

/** Each page by its path, as it is and as it should be. */
async function render(): Promise<{ path: string; old: string; text: string }[]> {
  const results = readResults()
  const redis = results.find(({ suite }) => suite === 'redis')
  const made: [string, (old: string) => string][] = [
    ['docs/benchmarks.md', () => HEAD + results.map(section).join('')],
    ['README.md', (old) => withPeersTable(old, redis, ENGLISH)],
    ['README.zh-CN.md', (old) => withPeersTable(old, redis, CHINESE)],
  ]
  return Promise.all(
    made.map(async ([name, make]) => {
      const path = fileURLToPath(new URL(name, ROOT))
      const old = existsSync(path) ? readFileSync(path, 'utf8') : ''
      const config = await resolveConfig(path)
      return { path, old, text: await format(make(old), { ...config, parser: 'markdown' }) }
    }),
  )
}

const isCheck = process.argv.includes('--check')
for (const { path, old, text } of await render()) {
  if (old === text) continue
  if (isCheck) {
    console.error(`${path} is not what bench/results say: npm run bench:page`)
    process.exitCode = 1
  } else writeFileSync(path, text)
}
