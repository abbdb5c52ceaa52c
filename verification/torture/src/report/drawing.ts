/**
 * Draws a stretch of a run: the faults, and for each lock and process who held it and who waited,
 * with the tokens.
 */
import type { Hold, Wait } from '@holdfast/conformance'
import { FAULTS, type Lane } from '@holdfast/stores/faults/catalogue'
import type { Happening } from '../run/chronicle.js'
import { escape } from './html.js'

export interface Scene {
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly holds: readonly Hold[]
  readonly waits: readonly Wait[]
  readonly happenings: readonly Happening[]
  /** Holds that a violation is about. */
  readonly marked: ReadonlySet<Hold>
  /** From when times are counted. */
  readonly originNs: bigint
  readonly pixelsPerSecond: number
}

interface Row {
  readonly label: string
  readonly head: boolean
  readonly holds: readonly Hold[]
  readonly waits: readonly (Wait | Hold)[]
}

const ROW = 18
const LEFT = 150
const TOP = 24
const BAR = 12
/** A bar shorter than this has no room for its token. */
const LABEL_FROM = 60
const LANES: readonly Lane[] = ['process', 'network', 'server']
const TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60]
const TICK_PIXELS = 70

export function draw(scene: Scene): string {
  const rows = rowsOf(scene)
  const width = LEFT + Math.ceil(seconds(scene.toNs - scene.fromNs) * scene.pixelsPerSecond) + 10
  const height = TOP + (LANES.length + rows.length) * ROW + 6
  const parts = [
    ...ticks(scene, height),
    ...LANES.flatMap((lane, index) => drawLane(scene, lane, TOP + index * ROW)),
    ...rows.flatMap((row, index) => drawRow(scene, row, TOP + (LANES.length + index) * ROW, width)),
  ]
  return `<div class="scroll"><svg role="img" aria-label="Timeline" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${parts.join('')}</svg></div>`
}

function rowsOf({ fromNs, toNs, holds, waits }: Scene): Row[] {
  const seen = (start: bigint, end: bigint): boolean => start < toNs && end > fromNs
  const itsHolds = holds.filter(({ startNs, endNs }) => seen(startNs, endNs))
  const waited = holds.filter(({ invokedNs, startNs }) => seen(invokedNs, startNs))
  const gaveUp = waits.filter(({ invokedNs, endNs }) => seen(invokedNs, endNs ?? toNs))
  const all = [...itsHolds, ...waited, ...gaveUp]
  const keys = [...new Set(all.map(({ key }) => key))].toSorted()
  return keys.flatMap((key) => {
    const processes = [...new Set(all.filter((one) => one.key === key).map(processOf))].toSorted()
    return processes.map((process, index) => {
      const mine = (one: Hold | Wait): boolean => one.key === key && processOf(one) === process
      return {
        label: `${index === 0 ? key : ''}\u00a0 ${process}`,
        head: index === 0,
        holds: itsHolds.filter(mine),
        waits: [...waited.filter(mine), ...gaveUp.filter(mine)],
      }
    })
  })
}

function drawRow(
  scene: Scene,
  { label, head, holds, waits }: Row,
  y: number,
  width: number,
): string[] {
  const line = head ? `<line class="rule" x1="0" x2="${width}" y1="${y}" y2="${y}"/>` : ''
  return [
    line,
    `<text class="label" x="${LEFT - 8}" y="${y + BAR + 1}">${escape(label)}</text>`,
    ...waits.map((wait) => drawWait(scene, wait, y)),
    ...holds.map((hold) => drawHold(scene, hold, y)),
  ]
}

function drawWait(scene: Scene, wait: Wait | Hold, y: number): string {
  const end = 'startNs' in wait ? wait.startNs : (wait.endNs ?? scene.toNs)
  const [x1, x2] = span(scene, wait.invokedNs, end)
  const kind = 'startNs' in wait ? 'wait' : 'wait gone'
  return `<line class="${kind}" x1="${x1}" x2="${x2}" y1="${y + ROW - 4}" y2="${y + ROW - 4}"/>`
}

function drawHold(scene: Scene, hold: Hold, y: number): string {
  const [x1, x2] = span(scene, hold.startNs, hold.endNs)
  const { weight, capacity, token, client, release } = hold
  const shared = weight < capacity
  const lost = release === undefined || release.answer === 'fail'
  const kinds = [
    'hold',
    shared ? 'shared' : '',
    lost ? 'lost' : '',
    scene.marked.has(hold) ? 'marked' : '',
  ]
  const width = Math.max(1.5, x2 - x1)
  const facts =
    `${hold.key}, ${client} (pid ${hold.pid}), token ${token ?? 'none'}, from ${time(scene, hold.startNs)} ` +
    `to ${time(scene, hold.endNs)}${lost ? ', lost or given up' : ''}`
  const text =
    width < LABEL_FROM
      ? ''
      : `<text class="token" x="${x1 + 3}" y="${y + BAR}">${shortToken(token)}</text>`
  return `<g><title>${escape(facts)}</title><rect class="${kinds.filter(Boolean).join(' ')}" x="${x1}" y="${y + 2}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>${text}</g>`
}

/** The last digits tell tokens apart. */
function shortToken(token: bigint | undefined): string {
  const text = String(token ?? '')
  return text.length > 7 ? `…${text.slice(-6)}` : text
}

function drawLane(scene: Scene, lane: Lane, y: number): string[] {
  const its = scene.happenings.filter(
    ({ fault, startNs, endNs }) =>
      FAULTS[fault.kind].lane === lane && startNs < scene.toNs && endNs > scene.fromNs,
  )
  return [
    `<text class="label fault-label" x="${LEFT - 8}" y="${y + BAR + 1}">${lane} faults</text>`,
    ...its.map((happening) => {
      const { fault, startNs, endNs } = happening
      const [x1, x2] = span(scene, startNs, endNs)
      const width = Math.max(3, x2 - x1)
      const text =
        width < LABEL_FROM
          ? ''
          : `<text class="fault-name" x="${x1 + 3}" y="${y + BAR}">${fault.kind}</text>`
      const facts = `${fault.kind}: ${FAULTS[fault.kind].title}; from ${time(scene, startNs)} to ${time(scene, endNs)}`
      return `<g><title>${escape(facts)}</title><rect class="fault ${lane}" x="${x1}" y="${y + 2}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>${text}</g>`
    }),
  ]
}

function ticks({ fromNs, toNs, originNs, pixelsPerSecond }: Scene, height: number): string[] {
  const step = TICKS.find((one) => one * pixelsPerSecond >= TICK_PIXELS) ?? 120
  const [from, to] = [seconds(fromNs - originNs), seconds(toNs - originNs)]
  const parts: string[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const x = LEFT + (at - from) * pixelsPerSecond
    const text = `${Number(at.toFixed(2))} s`
    parts.push(
      `<line class="tick" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="14" y2="${height}"/>`,
    )
    parts.push(`<text class="time" x="${x.toFixed(1)}" y="10">${text}</text>`)
  }
  return parts
}

function span(
  { fromNs, toNs, pixelsPerSecond }: Scene,
  startNs: bigint,
  endNs: bigint,
): [number, number] {
  const clamp = (ns: bigint): bigint => (ns < fromNs ? fromNs : ns > toNs ? toNs : ns)
  const place = (ns: bigint): number =>
    LEFT + Number((seconds(clamp(ns) - fromNs) * pixelsPerSecond).toFixed(1))
  return [place(startNs), place(endNs)]
}

function time({ originNs }: Scene, ns: bigint): string {
  return `${(Number(ns - originNs) / 1e6).toFixed(1)} ms`
}

function seconds(ns: bigint): number {
  return Number(ns) / 1e9
}

function processOf({ client }: { readonly client: string }): string {
  return client.split('.')[0] ?? client
}
