/**
 * Writes the pages of the recorded results: `npm run bench:page`. `docs/benchmarks.md` and its
 * chart are for readers, `docs/internals/measurements.md` has every row. With `--check` it only
 * reports whether they are up to date.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { chart, readablePage } from './readable-page.js'
import { verdictOf, type Results } from './report.js'

const RESULTS = new URL('../results/', import.meta.url)
const ROOT = new URL('../../', import.meta.url)

const HEAD = `# Measurements

Every recorded row, with what it had to reach; [benchmarks](../benchmarks.md) has the ones that
readers ask for. Made from \`bench/results/*.json\`, which \`npm run bench\` records. Subjects take turns, each in a
fresh process, in at least five rounds after a warm-up. The table shows medians, and ratios are
medians of the ratios within a round. A shared machine is faster in one minute than in the next, so
compare ratios rather than figures. On the hot lock of Redis the variants of the peers
(\`-defaults\`, \`-queued\`) take part in two of the rounds, and count in the others with their
median there.

A row that ends in *garbage* belongs to the row before it. It counts the bytes that one acquire and
release allocate on the JavaScript heap, and the share of the time for which the main thread stands
still for a collection, both in a run of its own.

The part *builds* is from \`node scripts/compare-builds.mjs\`: both builds in one process, in 60 turns (memory and embedded: 240). A name says
the store, the way (\`run\`, or one hot lock) and how many callers there are. It was recorded beside other work, which
widens the intervals.
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

/** Returns Markdown as the formatter of the repository writes it. */
async function formatted(text: string, path: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), parser: 'markdown' })
}

const results = readResults()
const pages = {
  'docs/benchmarks.md': readablePage(results),
  'docs/internals/measurements.md': HEAD + results.map(section).join(''),
  'docs/pictures/benchmarks.svg': chart(results),
}
for (const [name, made] of Object.entries(pages)) {
  const path = fileURLToPath(new URL(name, ROOT))
  const text = name.endsWith('.md') ? await formatted(made, path) : made
  const old = existsSync(path) ? readFileSync(path, 'utf8') : ''
  if (old !== text && process.argv.includes('--check')) {
    console.error(`${path} is not what bench/results say: npm run bench:page`)
    process.exitCode = 1
  } else if (old !== text) {
    writeFileSync(path, text)
  }
}
