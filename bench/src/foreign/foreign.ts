/**
 * `npm run bench -- --foreign`: Holdfast beside clients of other languages, on the same private
 * servers. All take turns, and what is compared is the ratio within a round.
 */
import { loadStore } from '@holdfast/stores/load'
import { inWords, medianRate, pair } from '../paired.js'
import type { Row } from '../report.js'
import type { Progress } from '../suite.js'
import { build, type LanguageName } from './languages.js'
import {
  PEERS,
  rowName,
  WORKLOADS,
  workloadsOf,
  type Peer,
  type StoreName,
  type WorkloadName,
} from './peers.js'
import { runPeer } from './run-peer.js'

export interface ForeignResults {
  readonly rows: readonly Row[]
  /** Why languages and their peers have no rows. */
  readonly leftOut: readonly string[]
}

export async function measureForeign(rounds: number, progress: Progress): Promise<ForeignResults> {
  const leftOut: string[] = []
  const peers: Peer[] = []
  for (const language of new Set(PEERS.map((peer) => peer.language))) {
    const ofLanguage = PEERS.filter((peer) => peer.language === language)
    progress(`building the peers in ${language}`)
    const reason = build(language)
    if (reason === undefined) peers.push(...ofLanguage)
    else leftOut.push(`${reason}. Left out: ${ofLanguage.map(({ name }) => name).join(', ')}.`)
  }
  const rows: Row[] = []
  for (const store of new Set(peers.map((peer) => peer.store))) {
    const ofStore = peers.filter((peer) => peer.store === store)
    rows.push(...(await measureStore(store, ofStore, rounds, progress)))
  }
  return { rows, leftOut }
}

/** Rates by subject and workload, an entry a round. */
type Rates = Map<string, number[]>

async function measureStore(
  store: StoreName,
  peers: readonly Peer[],
  rounds: number,
  progress: Progress,
): Promise<Row[]> {
  const { service } = await loadStore(store)
  const running = await service.start()
  const at = running.at.join()
  try {
    const rates: Rates = new Map()
    const run = async (library: string, language: LanguageName, workload: WorkloadName) => {
      const title = `${store}, ${WORKLOADS[workload].title}: ${library}`
      progress(title)
      const address = language === 'javascript' ? at : hostsOf(at)
      const rate = await runPeer(library, language, address, WORKLOADS[workload])
      const key = `${workload} ${language === 'javascript' ? 'holdfast' : library}`
      rates.set(key, [...(rates.get(key) ?? []), rate])
    }
    for (let round = 1; round <= rounds; round += 1) {
      for (const workload of ['one', 'many', 'hot'] as const) {
        await run(store, 'javascript', workload)
        for (const { name, language } of peers) await run(name, language, workload)
      }
      if (peers.some(({ ordered }) => ordered)) await run(`${store}-fifo`, 'javascript', 'fifo')
    }
    return peers.flatMap((peer) => rowsOf(peer, rates))
  } finally {
    await running.remove()
  }
}

/** Returns addresses as clients of other languages want them, without scheme and path. */
function hostsOf(at: string): string {
  return at
    .split(',')
    .map((one) => one.replace(/^\w+:\/\//, '').replace(/\/.*$/, ''))
    .join()
}

function rowsOf(peer: Peer, rates: Rates): Row[] {
  return workloadsOf(peer).map((workload) => {
    const ours = rates.get(`${workload} holdfast`) ?? []
    // Beside strict order and beside cohorts stands the same hot lock of the peer.
    const theirs = rates.get(`${workload === 'fifo' ? 'hot' : workload} ${peer.name}`) ?? []
    const paired = pair(ours, theirs)
    const bar = peer.bars?.[workload]
    return {
      workload: rowName(peer, workload),
      measured: medianRate(ours),
      against: `${inWords(paired)} of ${peer.name}, ${medianRate(theirs)}`,
      bar: bar === undefined ? '' : `≥ ${bar}x`,
      reached: bar === undefined || paired.ratio >= bar,
      rounds: { holdfast: ours, [peer.name]: theirs },
    }
  })
}
