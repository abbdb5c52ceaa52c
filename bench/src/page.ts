/** Writes `docs/benchmarks.md` from the recorded results: `node bench/dist/page.js`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { verdictOf, type Results } from './report.js'

const RESULTS = new URL('../results/', import.meta.url)
const PAGE = new URL('../../docs/benchmarks.md', import.meta.url)

const HEAD = `# Benchmarks

Made from \`bench/results/*.json\`, which \`npm run bench\` records. Subjects take turns, each in a fresh process, in at least
five rounds after a warm-up; the table shows medians, and ratios are medians of the ratios within a round. A shared machine
is faster in one minute than in the next, so compare ratios rather than figures. On the hot lock of Redis the variants of the
peers (\`-defaults\`, \`-queued\`) take part in two of the rounds, and count in the others with their median there.
`

function table({ suite, recorded, machine, rows }: Results): string {
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

const files = readdirSync(RESULTS).filter((name) => name.endsWith('.json'))
const results = files.map((name) => JSON.parse(readFileSync(new URL(name, RESULTS), 'utf8')) as Results)
writeFileSync(PAGE, HEAD + results.map(table).join(''))
