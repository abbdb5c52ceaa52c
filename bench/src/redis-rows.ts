/** From the figures of a workload of Redis to its rows. */
import { besideFloor, type BesideFloor } from './floor.js'
import { bestOf, inWords, medianRate, pair, ratesOf, valuesOf } from './paired.js'
import { WORK, type Ours, type Round, type Workload, type WorkLimits } from './redis-workloads.js'
import { garbageRows, ms, rate, type Row } from './report.js'
import type { Figures } from './rounds.js'
import { median } from './stats.js'

export type Results = ReadonlyMap<string, readonly Figures[]>

/** The peer beside which processor time is measured. */
const USUAL_PEER = 'verrou'
const SOCKET = 'floor-socket'

/** The subjects of what of Holdfast runs: itself and its floors. */
export function subjectsOf({ subject, floor, ownCalls }: Ours): string[] {
  return [subject, floor ?? [], ownCalls ?? []].flat()
}

export function rowsOf(workload: Workload, results: Results): Row[] {
  return workload.ours.flatMap((ours) => {
    const figures = results.get(ours.subject) ?? []
    const floor = results.get(ours.floor ?? '') ?? []
    const { mostBytes } = ours
    return [
      rateRow(workload, ours, results),
      ...workRows(ours, results),
      ...garbageRows(`redis, ${ours.name}`, figures, {
        ...(mostBytes === undefined ? {} : { mostBytes }),
        floor,
      }),
    ]
  })
}

function rateRow({ peers, beside = [] }: Workload, ours: Ours, results: Results): Row {
  const figures = results.get(ours.subject) ?? []
  const rates = ratesOf(figures)
  const fastest = fastestIn(peers, rates.length, results)
  const waitsOfFastest = valuesOf(fastest.figures, 'p99Ms')
  const round: Round = {
    rate: pair(rates, fastest.rates),
    wait: pair(valuesOf(figures, 'p99Ms'), bestOf([waitsOfFastest], rates.length)),
    ours: mediansOf(figures),
    over: (subject) => pair(rates, ratesOf(results.get(subject))).ratio,
  }
  const { bars, floor: floorName } = ours
  const floor = {
    ours: rates,
    floor: ratesOf(results.get(floorName ?? '')),
    peer: fastest.rates,
    peerName: 'the fastest',
    least: bars.find(({ leastRate }) => leastRate !== undefined)?.leastRate,
  }
  return {
    workload: `redis, ${ours.name}`,
    measured: describe(round.ours) + besideOwn(round, beside),
    against: againstOf(peers, round, results, waitsOfFastest.some(Number.isFinite)),
    ...withSocket(withOwnCalls(besideFloor(floor), floor, results, ours), results, ours),
    bar: bars.map(({ what }) => what).join(', '),
    reached: bars.every((bar) => bar.reached(round)),
    rounds: Object.fromEntries(
      namesOf(ours, peers, beside).map((name) => [name, ratesOf(results.get(name))]),
    ),
  }
}

function namesOf(ours: Ours, peers: Workload['peers'], beside: readonly string[]): string[] {
  return [...subjectsOf(ours), ...peers.map(({ name }) => name), ...beside]
}

/** Returns the fastest peer of each round, and the figures of the one that is usually fastest. */
function fastestIn(
  peers: Workload['peers'],
  rounds: number,
  results: Results,
): { rates: number[]; figures: readonly Figures[] } {
  const all = peers.map(({ name }) => results.get(name) ?? [])
  const figures = all.reduce(
    (best, one) => (median(ratesOf(one)) > (median(ratesOf(best)) || 0) ? one : best),
    [],
  )
  return { rates: all.length === 0 ? [] : bestOf(all.map(ratesOf), rounds), figures }
}

/** Returns how Holdfast stands to its other subjects in the same rounds. */
function besideOwn({ over }: Round, beside: readonly string[]): string {
  const shown = beside.filter((name) => name !== SOCKET)
  return shown
    .map((name) =>
      name === WORK
        ? `, ${Math.round(over(name) * 100)}% of what the work allows`
        : `, ${over(name).toFixed(2)}x of ${name}`,
    )
    .join('')
}

function againstOf(
  peers: Workload['peers'],
  { rate: ofRates, wait }: Round,
  results: Results,
  hasWaits: boolean,
): string {
  if (peers.length === 0) return ''
  const ofWaits = hasWaits ? `, p99 ${wait.ratio.toFixed(3)}x` : ''
  return [
    `${inWords(ofRates)} of the fastest${ofWaits}`,
    ...peers.map(({ name }) => `${name} ${describe(mediansOf(results.get(name) ?? []))}`),
  ].join('; ')
}

/**
 * Adds the store's own calls, sent by hand. What the server does for them it does for Holdfast, so
 * they bound what a faster client could reach.
 */
function withOwnCalls(
  row: Pick<Row, 'floor' | 'floorReaches'>,
  rates: BesideFloor,
  results: Results,
  { ownCalls = '' }: Ours,
): Pick<Row, 'floor' | 'floorReaches'> {
  const calls = besideFloor({ ...rates, floor: ratesOf(results.get(ownCalls)) })
  if (calls.floor === undefined) return row
  const floorReaches = row.floorReaches !== false && calls.floorReaches !== false
  return {
    floor: `${row.floor}; its own calls by hand ${calls.floor}`,
    ...(rates.least === undefined ? {} : { floorReaches }),
  }
}

/** Adds the floor without the client library. */
function withSocket(
  row: Pick<Row, 'floor' | 'floorReaches'>,
  results: Results,
  { subject }: Ours,
): Pick<Row, 'floor' | 'floorReaches'> {
  const socket = ratesOf(results.get(SOCKET))
  if (row.floor === undefined || subject === 'run' || socket.length === 0) return row
  return { ...row, floor: `${row.floor}; over a bare socket ${medianRate(socket)}` }
}

/** Processor time for a pair. A clock shows more of what else the machine does. */
function workRows(ours: Ours, results: Results): Row[] {
  const { subject, name, floor = '', ownCalls = '', work } = ours
  if (work === undefined) return []
  const of = (one: string): WorkLimits => ({
    client: workRatio(results, one, 'clientUs'),
    server: workRatio(results, one, 'serverUs'),
  })
  const figures = results.get(subject) ?? []
  const us = (figure: string): string => `${median(valuesOf(figures, figure)).toFixed(0)} µs`
  const reaches = ({ client, server }: WorkLimits): boolean =>
    client <= work.client && server <= work.server
  return [
    {
      workload: `redis, ${name}: processor time`,
      measured: `client ${us('clientUs')}, server ${us('serverUs')} a pair`,
      against: `${workInWords(results, subject)} of ${USUAL_PEER}`,
      floor: `${workInWords(results, floor)} of ${USUAL_PEER}; its own calls by hand ${workInWords(results, ownCalls)}`,
      floorReaches: reaches(of(floor)) && reaches(of(ownCalls)),
      bar: `client ≤ ${work.client}x, server ≤ ${work.server}x`,
      reached: reaches(of(subject)),
      rounds: Object.fromEntries(
        [...subjectsOf(ours), USUAL_PEER].flatMap((one) =>
          ['clientUs', 'serverUs'].map((figure) => [
            `${one}, ${figure}`,
            valuesOf(results.get(one), figure),
          ]),
        ),
      ),
    },
  ]
}

function workRatio(results: Results, subject: string, figure: string): number {
  return workPair(results, subject, figure).ratio
}

function workPair(results: Results, subject: string, figure: string) {
  return pair(valuesOf(results.get(subject), figure), valuesOf(results.get(USUAL_PEER), figure))
}

function workInWords(results: Results, subject: string): string {
  const [client, server] = ['clientUs', 'serverUs'].map((figure) =>
    inWords(workPair(results, subject, figure)),
  )
  return `client ${client}, server ${server}`
}

function mediansOf(figures: readonly Figures[]): Figures {
  const names = Object.keys(figures[0] ?? {})
  return Object.fromEntries(names.map((name) => [name, median(valuesOf(figures, name))]))
}

function describe({ pairs = NaN, p50Ms, p99Ms, maxMs, spread }: Figures): string {
  if (p50Ms === undefined || p99Ms === undefined || maxMs === undefined) return rate(pairs)
  const waits = `p50 ${ms(p50Ms)}, p99 ${ms(p99Ms)}, max ${ms(maxMs)}`
  return `${rate(pairs)}, ${waits}${spread === undefined ? '' : `, spread ${Math.round(spread * 100)}%`}`
}
