/**
 * Writes the pages of the recorded results: `npm run bench:page`. `docs/benchmarks.md` and its
 * chart are for readers, `docs/internals/measurements.md` has every row. With `--check` it only
 * reports whether they are up to date.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { chart, readablePage } from './readable-page.js'
import { tableOf, type Results } from './report.js'

const RESULTS = new URL('../results/', import.meta.url)
const ROOT = new URL('../../', import.meta.url)

const HEAD = `# Measurements

Every recorded row, with what it had to reach; [benchmarks](../benchmarks.md) has the ones that
readers ask for. Made from \`bench/results/*.json\`, which \`npm run bench\` records. Subjects take turns, each in a
fresh process, in at least five rounds after a warm-up, of five or ten seconds where pairs are slow. The table shows medians, and ratios are
medians of the ratios within a round. A shared machine is faster in one minute than in the next, so
compare ratios rather than figures. Behind a ratio stands the 95% interval of its median. Of fewer
than six rounds that is their whole range. The slower peers take part in two of the rounds, and count in the others with their
median there.

The _floor_ of a row is the least that a pair with a fencing token asks of the server, through the
same client library and in the same rounds. It keeps no queue, and does not remember withdrawals.
Where no release is awaited, the floor on Redis releases with the next attempt. On a database it sends the release at once, since a process that ends would lose one that is held back. Where Holdfast and the floor miss a bar, the client library or the server is the limit.

_Its own calls by hand_, on Redis, are the calls of Holdfast without the rest of its client: no lease, no
deadline, no queue in the process. The server does the same for them, queue and memory of withdrawals
included. So they bound what a faster client could reach.

| store | the floor of a pair |
|---|---|
| Redis | a script call that sets a key and reads the clock, and one that compares and deletes; those of a tick in one call |
| Redlock | the same on all servers; each of the two ends at a majority |
| PostgreSQL, MariaDB | an update that puts owner and token into a row, and one that ends its lease |
| etcd | a transaction that makes a key under a lease, and one that removes it; those of a tick in one |
| ZooKeeper | a request that makes an ephemeral node, and one that removes it |

A row that ends in *garbage* belongs to the row before it. It counts the bytes that one acquire and
release allocate on the JavaScript heap, and the share of the time for which the main thread stands
still for a collection, both in a run of its own.

The part *builds* is from \`node scripts/compare-builds.mjs\`: both builds in one process, in 60 turns (memory and embedded: 240). A name says
the store, the way (\`run\`, or one hot lock) and how many callers there are. It was recorded beside other work, which
widens the intervals.
`

function section({ suite, recorded, machine, rows }: Results): string {
  const { head, lines } = tableOf(rows)
  return `
## ${suite}

Recorded ${recorded} on Node ${machine.node}, ${machine.platform}, ${machine.cores} cores.

| ${head.join(' | ')} |
|${'---|'.repeat(head.length)}
${lines.map((line) => `| ${line.join(' | ')} |`).join('\n')}
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
