/** A cycle of holders as a ring: each arrow leads to the holder of what is waited for. */
import type { CycleMember } from '../../../holdfast/src/console/view.js'
import { escapeText } from '../format/name.js'
import { useTexts } from '../text/language.js'

const WIDTH = 372
const HEIGHT = 184
const RADIUS = 60
const DISC = 14
/** Radians between the rim of a disc and the end of an arrow. */
const GAP = 0.07
const LABEL_LENGTH = 14
/** More discs than this touch each other. */
const MOST_DISCS = 10

export function Ring({ cycle }: { cycle: readonly CycleMember[] }) {
  const texts = useTexts()
  const drawn = cycle.slice(0, MOST_DISCS)
  const angleOf = (index: number): number => (2 * Math.PI * index) / drawn.length - Math.PI / 2
  const half = DISC / RADIUS + GAP
  return (
    <svg
      class="ring"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={texts.deadlock.picture(cycle.length)}
    >
      {drawn.map((_, index) => (
        <Arrow key={index} from={angleOf(index) + half} to={angleOf(index + 1) - half} />
      ))}
      {drawn.map(({ lock }, index) => (
        <Disc key={index} angle={angleOf(index)} number={index + 1} lock={lock} />
      ))}
    </svg>
  )
}

function Arrow({ from, to }: { from: number; to: number }) {
  // The shaft ends inside of the head.
  const [startX, startY] = pointAt(from)
  const [endX, endY] = pointAt(to - 0.1)
  const [tipX, tipY] = pointAt(to)
  const turn = ((to - 0.06) * 180) / Math.PI + 90
  const isLong = to - from > Math.PI ? 1 : 0
  return (
    <g>
      <path
        class="shaft"
        d={`M${startX} ${startY}A${RADIUS} ${RADIUS} 0 ${isLong} 1 ${endX} ${endY}`}
      />
      <path
        class="head"
        d="M0 0L-9 -5V5Z"
        transform={`translate(${tipX} ${tipY}) rotate(${turn.toFixed(1)})`}
      />
    </g>
  )
}

function Disc({ angle, number, lock }: { angle: number; number: number; lock: string }) {
  const [x, y] = pointAt(angle)
  const side = Math.cos(angle)
  const isBeside = Math.abs(side) > 0.2
  const away = DISC + 8
  const [labelX, labelY] = isBeside
    ? [x + Math.sign(side) * away, y + 4]
    : [x + away, y + Math.sign(Math.sin(angle)) * 8 + 4]
  return (
    <g>
      <circle cx={x} cy={y} r={DISC} />
      <text class="number" x={x} y={y + 4.5} text-anchor="middle">
        {number}
      </text>
      <text class="leaf" x={labelX} y={labelY} text-anchor={isBeside && side < 0 ? 'end' : 'start'}>
        {labelOf(lock)}
      </text>
    </g>
  )
}

/** Returns a short form of a name. Names of one cycle differ at their ends. */
function labelOf(lock: string): string {
  const shown = escapeText(lock)
  return shown.length > LABEL_LENGTH ? `…${shown.slice(1 - LABEL_LENGTH)}` : shown
}

function pointAt(angle: number): readonly [number, number] {
  return [round(WIDTH / 2 + RADIUS * Math.cos(angle)), round(HEIGHT / 2 + RADIUS * Math.sin(angle))]
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
