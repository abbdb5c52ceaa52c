/** The part of the page for readers about clients of other languages. */
import { FLOOR } from '../floor.js'
import { inWords, pair } from '../paired.js'
import type { Results } from '../report.js'
import { LANGUAGES } from './languages.js'
import { PEERS, rowName, workloadsOf, type Peer, type WorkloadName } from './peers.js'

const COLUMNS: readonly (readonly [name: WorkloadName, title: string])[] = [
  ['one', 'one at a time'],
  ['many', '64 in flight'],
  ['far', '64 in flight at 2.4 ms'],
  ['hot', 'hot'],
  ['fifo', 'hot, both in order'],
]

/** Returns the section; nothing where no such run is recorded. */
export function foreignSection(results: readonly Results[]): string {
  const recorded = results.find(({ suite }) => suite === 'foreign')
  if (recorded === undefined) return ''
  const lines = PEERS.map((peer) => {
    const cells = COLUMNS.map(([workload]) => ratioOf(recorded, peer, workload))
    const shown = cells.map((ratio) => (ratio === undefined ? '–' : inWords(ratio)))
    return `| ${[nameOf(peer), peer.store, ...shown].join(' | ')} |`
  })
  const floors = [...new Set(PEERS.map(({ store }) => store))].flatMap((store) => {
    const cells = COLUMNS.map(([workload]) => floorRatioOf(recorded, store, workload))
    const shown = cells.map((ratio) => (ratio === undefined ? '–' : inWords(ratio)))
    return cells.every((ratio) => ratio === undefined)
      ? []
      : [`| ${['_the floor_', store, ...shown].join(' | ')} |`]
  })
  const { load, cores } = recorded.machine
  const wanted = load === 1 ? 'one process' : `${load ?? 'an unknown number of'} processes`
  return `## And beside clients of other languages?

Pairs of Holdfast by those of the client, on the same servers: medians of the ratios within a round,
and their range over three rounds, or five where a bar stands. Above 1 Holdfast is faster. A hot lock has 4 processes with 16 callers each.
Clients that poll do so every 5 ms, which is in their favour. \`bench/peers/\` pins their versions.
_At 2.4 ms_: a request and its reply travel that long to the server and back. _The floor_ is the least
that a pair with a fencing token asks of the server, through the client library that Holdfast uses.
When the run of ${recorded.recorded} began, ${wanted} wanted the ${cores} cores.

| client | store | ${COLUMNS.map(([, title]) => title).join(' | ')} |
|---|---|${'---|'.repeat(COLUMNS.length)}
${[...lines, ...floors].join('\n')}

Holdfast is slower than ${losses(recorded).join('; ') || 'none of them'}.
`
}

function nameOf({ name, language }: Peer): string {
  return `${name} (${LANGUAGES[language].title})`
}

function ratioOf({ rows }: Results, peer: Peer, workload: WorkloadName) {
  if (!workloadsOf(peer).includes(workload)) return undefined
  const name = rowName(peer, workload)
  const row = rows.find((one) => one.workload === name)
  if (row === undefined) throw new Error(`bench/results/foreign.json has no row ${name}.`)
  const paired = pair(row.rounds['holdfast'] ?? [], row.rounds[peer.name] ?? [])
  // The client failed in each round.
  return Number.isNaN(paired.ratio) ? undefined : paired
}

/** Returns how Holdfast stands to the floor of a store; undefined where none was measured. */
function floorRatioOf({ rows }: Results, store: string, workload: WorkloadName) {
  const peer = PEERS.find((one) => one.store === store && workloadsOf(one).includes(workload))
  const row = rows.find((one) => peer && one.workload === rowName(peer, workload))
  const floor = row?.rounds[FLOOR]
  return floor && pair(row.rounds['holdfast'] ?? [], floor)
}

/** Returns the clients that are faster, and where. */
function losses(recorded: Results): string[] {
  return PEERS.flatMap((peer) => {
    const lost = COLUMNS.filter(([workload]) => (ratioOf(recorded, peer, workload)?.ratio ?? 1) < 1)
    return lost.length === 0
      ? []
      : [`${nameOf(peer)}, ${lost.map(([, title]) => title).join(' and ')}`]
  })
}
