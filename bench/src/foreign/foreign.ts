/**
 * `npm run bench -- --foreign`: Holdfast beside clients of other languages, on the same private
 * servers. All take turns, and what is compared is the ratio within a round. Peers without a bar
 * take part in the first rounds alone.
 */
import { loadStore } from '@holdfast/stores/load'
import { startDelayingProxy } from '../delaying-proxy.js'
import { besideFloor, FLOOR } from '../floor.js'
import { inWords, medianRate, pair } from '../paired.js'
import type { Row } from '../report.js'
import type { Progress } from '../suite.js'
import { build, type LanguageName } from './languages.js'
import {
  PEERS,
  roundsOf,
  rowName,
  WORKLOADS,
  workloadsOf,
  type Peer,
  type StoreName,
  type Workload,
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

const HOLDFAST = 'holdfast'

/** A subject of a workload: a peer, Holdfast, or the floor. */
interface Subject {
  readonly name: string
  readonly library: string
  readonly language: LanguageName
}

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
    for (let round = 1; round <= rounds; round += 1) {
      for (const workload of Object.keys(WORKLOADS) as WorkloadName[]) {
        const { title, roundTripMs } = WORKLOADS[workload]
        const taking = peers.filter((peer) => round <= roundsOf(peer, workload, rounds))
        const subjects = subjectsOf(workload, store, taking)
        await withRoundTrip(at, roundTripMs, async (address) => {
          for (const subject of subjects) {
            progress(`round ${round} of ${rounds}: ${store}, ${title}: ${subject.name}`)
            const rate = await rateOf(subject, address, WORKLOADS[workload])
            const key = `${workload} ${subject.name}`
            rates.set(key, [...(rates.get(key) ?? []), rate])
          }
        })
      }
    }
    return peers.flatMap((peer) => rowsOf(peer, rates))
  } finally {
    await running.remove()
  }
}

/** Resolves to the pairs a second: NaN where a peer failed, which is printed. */
async function rateOf(
  { library, language }: Subject,
  address: string,
  workload: Workload,
): Promise<number> {
  const isOwn = language === 'javascript'
  try {
    return await runPeer(library, language, isOwn ? address : hostsOf(address), workload)
  } catch (error) {
    if (isOwn) throw error
    console.error(`Left out of this round: ${String(error)}`)
    return NaN
  }
}

function own(name: string, library: string): Subject {
  return { name, library, language: 'javascript' }
}

/** Returns what takes turns in a workload; nothing where no peer takes part. */
function subjectsOf(workload: WorkloadName, store: StoreName, peers: readonly Peer[]): Subject[] {
  const taking = peers.filter((peer) => workloadsOf(peer).includes(workload))
  if (taking.length === 0) return []
  // The hot lock of the peers is the same beside strict order and beside cohorts.
  if (workload === 'fifo') return [own(HOLDFAST, `${store}-fifo`)]
  return [
    own(HOLDFAST, store),
    ...(WORKLOADS[workload].kind === 'free' ? [own(FLOOR, `${store}-floor`)] : []),
    ...taking.map(({ name, language }) => ({ name, library: name, language })),
  ]
}

/** Puts a proxy before a server of one address, where there is a way to it. */
async function withRoundTrip(
  at: string,
  roundTripMs: number | undefined,
  use: (address: string) => Promise<void>,
): Promise<void> {
  if (roundTripMs === undefined) return use(at)
  const port = /:(\d+)/.exec(at)?.[1] ?? ''
  const proxy = await startDelayingProxy(Number(port), roundTripMs)
  try {
    await use(at.replace(`:${port}`, `:${proxy.port}`))
  } finally {
    await proxy.stop()
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
    const ours = rates.get(`${workload} ${HOLDFAST}`) ?? []
    const floor = rates.get(`${workload} ${FLOOR}`) ?? []
    // Beside strict order and beside cohorts stands the same hot lock of the peer.
    const theirs = rates.get(`${workload === 'fifo' ? 'hot' : workload} ${peer.name}`) ?? []
    const paired = pair(ours, theirs)
    const bar = peer.bars?.[workload]
    return {
      workload: rowName(peer, workload),
      measured: medianRate(ours),
      against: Number.isNaN(paired.ratio)
        ? `${peer.name} ended without a figure in each round`
        : `${inWords(paired)} of ${peer.name}, ${medianRate(theirs)}`,
      ...besideFloor({ ours, floor, peer: theirs, peerName: peer.name, least: bar }),
      bar: bar === undefined ? '' : `≥ ${bar}x`,
      reached: bar === undefined || paired.ratio >= bar,
      rounds: {
        [HOLDFAST]: ours,
        ...(floor.length > 0 ? { [FLOOR]: floor } : {}),
        [peer.name]: theirs,
      },
    }
  })
}
