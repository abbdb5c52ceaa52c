/** The page for readers: five rows, a chart, one table a question, from the recorded results. */
import { foreignSection } from './foreign/page.js'
import { bestOf, inWords, pair } from './paired.js'
import type { Results, Row } from './report.js'

const PEERS = ['redlock', 'redis-semaphore', 'verrou', 'redlock-universal']
const HOT = 'one hot lock, 4 processes x 16 waiters'

/** Returns the text of `docs/benchmarks.md`. */
export function readablePage(results: readonly Results[]): string {
  const find = finder(results)
  return [
    HEAD,
    summary(find),
    free(find, present(results)),
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
    const width = Math.max(2, Math.round((Number(ms) / most) * 180))
    const colour = at === 0 ? '#0f766e' : '#94a3b8'
    return `  <text x="186" y="${y + 15}" text-anchor="end" fill="#334155">${name}</text>
  <rect x="194" y="${y}" width="${width}" height="20" rx="4" fill="${colour}" />
  <text x="${202 + width}" y="${y + 15}" fill="#334155">${ms} ms</text>`
  })
  const height = 74 + bars.length * 30
  const label = `99 of 100 waiters got the lock within: ${bars.map(([name, ms]) => `${name} ${ms} ms`).join(', ')}.`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 456 ${height}" role="img" aria-labelledby="title desc" font-family="Inter, Arial, sans-serif" font-size="13">
  <title id="title">The wait for a hot lock</title>
  <desc id="desc">${label}</desc>
  <rect x="1" y="1" width="454" height="${height - 2}" rx="14" fill="#f8fafc" stroke="#cbd5e1" />
  <text x="228" y="34" text-anchor="middle" fill="#334155" font-weight="600">99 of 100 waiters of a hot lock on Redis got it within</text>
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

/** Returns whether a row is recorded. */
function present(results: readonly Results[]): (workload: string) => boolean {
  const names = new Set(results.flatMap(({ rows }) => rows.map(({ workload }) => workload)))
  return (workload) => names.has(workload)
}

/** Returns what a row says of one library. */
function figureOf(row: Row, name: string): string {
  if (name === 'Holdfast') return row.measured
  const found = row.against.split('; ').find((part) => part.startsWith(`${name} `))
  if (found === undefined) throw new Error(`${row.workload} says nothing of ${name}.`)
  return found.slice(name.length + 1)
}

/**
 * Returns the rate alone, without waits.
 * @param absent stands for a library that took no part
 */
function rateOf(row: Row, name: string, absent?: string): string {
  if (absent !== undefined && row.rounds[name] === undefined) return absent
  return (figureOf(row, name).split(',')[0] ?? '').replace(/ \(.*/, '')
}

/** Returns the rate of Holdfast over that of the fastest library of each round. */
function fastestRatio({ rounds }: Row): string {
  const ours = rounds['cohort'] ?? []
  const peers = PEERS.flatMap((name) => (rounds[name] ? [rounds[name]] : []))
  return inWords(pair(ours, bestOf(peers, ours.length)))
}

function summary(find: Find): string {
  const many = find('redis', 'redis, free locks, 64 in flight')
  const one = find('redis', 'redis, free lock, one at a time')
  const cohort = find('redis', `redis, ${HOT}, cohort`)
  const work = find('redis', `redis, ${HOT}, 1 ms of work`)
  const sql = find('postgres', `postgres, ${HOT}`)
  const p99 = (name: string): string => /p99 [\d.]+ ms/.exec(figureOf(work, name))?.[0] ?? ''
  const rates = (row: Row, ...names: string[]): string =>
    boldBest(names.map((name) => rateOf(row, name))).join(' | ')
  const queued = ['Holdfast', 'verrou-queued', 'redlock-queued']
  return `| workload | Holdfast | verrou | redlock |
|---|---|---|---|
| Redis, many free locks, 64 at a time | ${rates(many, 'Holdfast', 'verrou', 'redlock')} |
| Redis, one free lock after the other | ${rates(one, 'Holdfast', 'verrou', 'redlock')} |
| Redis, one hot lock, no work under it | ${rates(cohort, ...queued)} |
| the wait for it, with 1 ms of work | ${boldBest(queued.map(p99), Math.min).join(' | ')} |
| PostgreSQL, one hot lock | ${rates(sql, 'Holdfast', 'verrou')} | – |

![How long 99 of 100 waiters of a hot lock waited at most, as the rows above and below say](pictures/benchmarks.svg)
`
}

/** Marks the best cell of a row. */
function boldBest(cells: readonly string[], best = Math.max): string[] {
  const values = cells.map(numberIn)
  const bestValue = best(...values)
  return cells.map((cell, at) => (values[at] === bestValue ? `**${cell}**` : cell))
}

/** Returns the number in a cell, such as 87000 of `87 k/s` and 93 of `p99 93 ms`. */
function numberIn(cell: string): number {
  const [, digits, thousands] = /([\d.]+) (k)?(?:\/s|ms)/.exec(cell) ?? []
  return Number(digits) * (thousands === undefined ? 1 : 1000)
}

/** The rows of free locks. The latter ones are absent from older results. */
const FREE = [
  ['one at a time', 'free lock, one at a time'],
  ['64 at a time', 'free locks, 64 in flight'],
  ['512 at a time', 'free locks, 512 in flight'],
  ['4 096 at a time', 'free locks, 4096 in flight'],
  ['64 at a time at 2.4 ms', 'free locks, 64 in flight, 2.4 ms to the server and back'],
  ['one at a time, release not awaited', 'free lock, one at a time, release not awaited'],
  [
    'the same at 2.4 ms',
    'free lock, one at a time, release not awaited, 2.4 ms to the server and back',
  ],
] as const

function free(find: Find, isPresent: (workload: string) => boolean): string {
  const rows = FREE.flatMap(([title, name]) =>
    // Without peers a row answers nothing.
    isPresent(`redis, ${name}`) && find('redis', `redis, ${name}`).against !== ''
      ? [{ title, row: find('redis', `redis, ${name}`) }]
      : [],
  )
  const hasFloor = rows.some(({ row }) => row.floor !== undefined)
  const lines = rows.map(({ title, row }) => {
    const rates = [rateOf(row, 'Holdfast'), ...PEERS.map((name) => rateOf(row, name, '–'))]
    const floor = hasFloor ? [row.floor?.split(':')[0] ?? '–'] : []
    return `| ${[title, ...rates, ...floor].join(' | ')} |`
  })
  const columns = ['', 'Holdfast', ...PEERS, ...(hasFloor ? ['the floor'] : [])]
  const ratio = (name: string): string => fastestRatio(find('redis', `redis, ${name}`))
  return `## How fast is a free lock?

Pairs of acquire and release a second, of locks that no other client wants, on Redis:

| ${columns.join(' | ')} |
|${'---|'.repeat(columns.length)}
${lines.join('\n')}

One at a time Holdfast reaches ${ratio('free lock, one at a time')} of the fastest of them, which
keep no queue and no token. Calls of one tick travel together: with 64 at a time it reaches
${ratio('free locks, 64 in flight')}. Ratios are medians of those within a round, with their range over the rounds.
${hasFloor ? FLOOR_NOTE : ''}
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

const FLOOR_NOTE = `
_The floor_ is the least that a pair with a fencing token asks of the server, through the same
client library. It keeps no queue. _At 2.4 ms_: a request and its reply travel that long to the
server and back. _Not awaited_: \`run\` ends before its release is answered (\`awaitRelease: false\`).
`

const TAIL = `## How it was measured

The subjects take turns, each in a fresh process, in at least five rounds after a warm-up. The tables
show medians. \`npm run bench\` repeats it, and \`bench/results/*.json\` has the raw figures.
[Measurements](internals/measurements.md) has every row, also what was to be reached and was missed.
`
