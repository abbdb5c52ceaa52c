/** The page for readers: five rows, a chart, one table a question, from the recorded results. */
import { foreignSection } from './foreign/page.js'
import type { Results, Row } from './report.js'

const PEERS = ['redlock', 'redis-semaphore', 'verrou', 'redlock-universal']
const HOT = 'one hot lock, 4 processes x 16 waiters'

/** Returns the text of `docs/benchmarks.md`. */
export function readablePage(results: readonly Results[]): string {
  const find = finder(results)
  return [
    HEAD,
    summary(find),
    free(find),
    hot(find),
    short(find),
    foreignSection(results),
    TAIL,
  ].join('\n')
}

/** Returns the bars of the page: how long the unluckiest hundredth of the waiters waited. */
export function chart(results: readonly Results[]): string {
  const row = finder(results)('redis', `redis, ${HOT}, 1 ms of work`)
  const names = ['Holdfast', ...PEERS.flatMap((name) => [`${name}-queued`, name])]
  const bars = names.map((name) => [
    titleOf(name),
    Number(/p99 ([\d.]+) ms/.exec(figureOf(row, name))?.[1]),
  ])
  const most = Math.max(...bars.map(([, ms]) => Number(ms)))
  const lines = bars.map(([name, ms], at) => {
    const y = 58 + at * 30
    const width = Math.max(2, Math.round((Number(ms) / most) * 400))
    const colour = at === 0 ? '#0f766e' : '#94a3b8'
    return `  <text x="196" y="${y + 15}" text-anchor="end" fill="#334155">${name}</text>
  <rect x="206" y="${y}" width="${width}" height="20" rx="4" fill="${colour}" />
  <text x="${214 + width}" y="${y + 15}" fill="#334155">${ms} ms</text>`
  })
  const height = 74 + bars.length * 30
  const label = `99 of 100 waiters got the lock within: ${bars.map(([name, ms]) => `${name} ${ms} ms`).join(', ')}.`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" role="img" aria-labelledby="title desc" font-family="Inter, Arial, sans-serif" font-size="13">
  <title id="title">The wait for a hot lock</title>
  <desc id="desc">${label}</desc>
  <rect x="1" y="1" width="718" height="${height - 2}" rx="14" fill="#f8fafc" stroke="#cbd5e1" />
  <text x="360" y="34" text-anchor="middle" fill="#334155" font-size="14" font-weight="600">99 of 100 waiters of a hot lock on Redis got it within</text>
${lines.join('\n')}
</svg>
`
}

/** Returns how the pages call a way of waiting, such as `redlock, queued`. */
function titleOf(name: string): string {
  if (/-(queued|defaults)$/.test(name)) return name.replace(/-(?=queued$|defaults$)/, ', ')
  return PEERS.includes(name) ? `${name}, polling` : name
}

type Find = (suite: string, workload: string) => Row

function finder(results: readonly Results[]): Find {
  return (suite, workload) => {
    const row = results
      .find((one) => one.suite === suite)
      ?.rows.find((one) => one.workload === workload)
    if (row === undefined) throw new Error(`bench/results/${suite}.json has no row ${workload}.`)
    return row
  }
}

/** Returns what a row says of one library. */
function figureOf(row: Row, name: string): string {
  if (name === 'Holdfast') return row.measured
  const found = row.against.split('; ').find((part) => part.startsWith(`${name} `))
  if (found === undefined) throw new Error(`${row.workload} says nothing of ${name}.`)
  return found.slice(name.length + 1)
}

/** Returns the rate alone, without waits. */
function rateOf(row: Row, name: string): string {
  return (figureOf(row, name).split(',')[0] ?? '').replace(/ \(.*/, '')
}

function summary(find: Find): string {
  const many = find('redis', 'redis, free locks, 64 in flight')
  const one = find('redis', 'redis, free lock, one at a time')
  const cohort = find('redis', `redis, ${HOT}, cohort`)
  const work = find('redis', `redis, ${HOT}, 1 ms of work`)
  const sql = find('postgres', `postgres, ${HOT}`)
  const p99 = (name: string): string => /p99 [\d.]+ ms/.exec(figureOf(work, name))?.[0] ?? ''
  return `| workload | Holdfast | verrou | redlock |
|---|---|---|---|
| Redis, many free locks, 64 at a time | **${rateOf(many, 'Holdfast')}** | ${rateOf(many, 'verrou')} | ${rateOf(many, 'redlock')} |
| Redis, one free lock after the other | ${rateOf(one, 'Holdfast')} | **${rateOf(one, 'verrou')}** | ${rateOf(one, 'redlock')} |
| Redis, one hot lock, no work under it | **${rateOf(cohort, 'Holdfast')}** | ${rateOf(cohort, 'verrou-queued')} | ${rateOf(cohort, 'redlock-queued')} |
| the wait for it, with 1 ms of work | **${p99('Holdfast')}** | ${p99('verrou-queued')} | ${p99('redlock-queued')} |
| PostgreSQL, one hot lock | **${rateOf(sql, 'Holdfast')}** | ${rateOf(sql, 'verrou')} | – |

![How long 99 of 100 waiters of a hot lock waited at most, as the rows above and below say](pictures/benchmarks.svg)
`
}

function free(find: Find): string {
  const row = (title: string, workload: string): string => {
    const found = find('redis', workload)
    return `| ${[title, ...['Holdfast', ...PEERS].map((name) => rateOf(found, name))].join(' | ')} |`
  }
  return `## How fast is a free lock?

Pairs of acquire and release a second, of locks that no other client wants, on Redis:

| | Holdfast | ${PEERS.join(' | ')} |
|---|---|---|---|---|---|
${row('one at a time', 'redis, free lock, one at a time')}
${row('64 at a time', 'redis, free locks, 64 in flight')}
${row('512 at a time', 'redis, free locks, 512 in flight')}

One at a time, the others are a little faster; they keep no queue and no token. Calls of one tick
travel together, and then Holdfast is faster.

On other stores, beside another library:

| store | beside | one at a time | the other | many at a time | the other |
|---|---|---|---|---|---|
${others(find).join('\n')}
`
}

function others(find: Find): string[] {
  const one = 'free lock, one at a time'
  const many = 'free locks, 64 in flight'
  const sixteen = 'free locks, 16 in flight, 16 connections'
  const rows: [suite: string, name: string, peer: string, second: string][] = [
    ['redlock', 'redlock on 3 servers', 'redlock', many],
    ['postgres', 'postgres', 'verrou', sixteen],
    ['mysql', 'mysql', 'verrou', sixteen],
    ['etcd', 'etcd', 'etcd3', many],
    ['zookeeper', 'zookeeper', 'Curator', many],
  ]
  return rows.map(([suite, name, peer, second]) => {
    const both = [one, second].map((what) => find(suite, `${name}, ${what}`))
    const rates = both.flatMap((row) => [rateOf(row, 'Holdfast'), peerRate(row, peer)])
    return `| ${[name, peer, ...rates].join(' | ')} |`
  })
}

/** Returns the rate of a library, in each of the forms in which rows state it. */
function peerRate({ against }: Row, peer: string): string {
  const rate = String.raw`([\d.]+ k?/s)`
  const found = new RegExp(String.raw`\b${peer}(?:,)? \(?${rate}`).exec(against)
  if (found?.[1] === undefined) throw new Error(`No rate of ${peer} in: ${against}`)
  return found[1]
}

/** Returns the rate and the two waits of a hot lock. */
function cells(row: Row, name: string): string[] {
  const [rate = '', p50 = '', p99 = ''] = figureOf(row, name).split(', ')
  return [rate, p50.replace('p50 ', ''), p99.replace('p99 ', '')]
}

function line(title: string, first: Row, name: string, second?: Row): string {
  const others = second ? cells(second, name) : ['–', '–', '–']
  return `| ${[title, ...cells(first, name), ...others].join(' | ')} |`
}

function hot(find: Find): string {
  const plain = find('redis', `redis, ${HOT}, cohort`)
  const fifo = find('redis', `redis, ${HOT}, fifo`)
  const work = find('redis', `redis, ${HOT}, 1 ms of work`)
  return `## How fast is a hot lock, and what does waiting cost?

Four processes with sixteen callers each want one lock on Redis, all the time. *p50* is the wait of
the median caller, and *p99* what 99 of 100 waits did not exceed.

| | pairs | p50 | p99 | with 1 ms of work | p50 | p99 |
|---|---|---|---|---|---|---|
${line('Holdfast', plain, 'Holdfast', work)}
${line('Holdfast, `fifo`', fifo, 'Holdfast')}
${PEERS.flatMap((name) => [`${name}-queued`, name, `${name}-defaults`])
  .map((name) => line(titleOf(name), plain, name, work))
  .join('\n')}

- _Queued_: the callers of one process queue in that process, as they do in Holdfast.
- _Polling_: each caller asks every 5 ms, more often than by default. A few callers win nearly
  always: the median waits for nothing, and the others for seconds.
- _Defaults_: each caller asks as often as the library does by itself.
- With 1 ms of work the work itself bounds the rate, and what differs is the wait.
`
}

function short(find: Find): string {
  const held = find('redis', 'redis, 10 000 held leases, kept alive')
  const killed = find('embedded', 'embedded, SIGKILL of the holder to the next holder, p50')
  const memory = find('memory', 'memory, free: acquire and release')
  return `## What else?

| question | answer |
|---|---|
| what do 10 000 held leases cost a process? | ${held.measured} |
| how soon does a killed holder's lock pass on, without a server? | ${killed.measured} (p50) |
| and inside of one process? | ${memory.measured}; ${memory.against} |
`
}

const HEAD = `# Benchmarks

Measured beside other libraries, on one machine with two cores, servers included. **Bold** is the best
of a row. Compare within a row: the machine is shared, and faster in one minute than in the next.
On the hot lock, the table has the other libraries with a queue in each process: with it their waits
are shortest.
`

const TAIL = `## How it was measured

The subjects take turns, each in a fresh process, in at least five rounds after a warm-up. The tables
show medians. \`npm run bench\` repeats it, and \`bench/results/*.json\` has the raw figures.
[Measurements](internals/measurements.md) has every row, also what was to be reached and was missed.
`
