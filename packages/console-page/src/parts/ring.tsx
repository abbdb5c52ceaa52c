/** A cycle of holders as a ring: each arrow leads to the holder of what is waited for. */
import type { CycleMember } from '../../../holdfast/src/console/view.js'
import { escapeText } from '../format/name.js'
import { useTexts } from '../text/language.js'

const WIDTH = 372
const DISC = 14
/** Room for half of the topmost disc, and as much below. */
const MARGIN = 32
/** Between the rim of a disc and the end of an arrow. */
const GAP = 4
const LABEL_LENGTH = 14
/** More discs than this touch each other. */
const MOST_DISCS = 10

export function Ring({ cycle }: { cycle: readonly CycleMember[] }) {
  const texts = useTexts()
  const drawn = cycle.slice(0, MOST_DISCS)
  const circle = circleFor(drawn.length)
  const angleOf = (index: number): number => (2 * Math.PI * index) / drawn.length - Math.PI / 2
  const half = (DISC + GAP) / circle.radius
  return (
    <svg
      class="ring"
      viewBox={`0 0 ${WIDTH} ${2 * circle.middle}`}
      role="img"
      aria-label={texts.deadlock.picture(cycle.length)}
    >
      {drawn.map((_, index) => (
        <Arrow
          key={index}
          circle={circle}
          from={angleOf(index) + half}
          to={angleOf(index + 1) - half}
        />
      ))}
      {drawn.map(({ lock }, index) => (
        <Disc key={index} circle={circle} angle={angleOf(index)} number={index + 1} lock={lock} />
      ))}
    </svg>
  )
}

interface Circle {
  readonly radius: number
  /** The distance of the centre from the top. */
  readonly middle: number
  /** A larger circle leaves no room beside it. */
  readonly hasLabels: boolean
}

function circleFor(discs: number): Circle {
  const hasLabels = discs <= 5
  const radius = hasLabels ? 60 : 14 * discs
  return { radius, middle: radius + MARGIN, hasLabels }
}

interface ArrowProps {
  readonly circle: Circle
  readonly from: number
  readonly to: number
}

function Arrow({ circle, from, to }: ArrowProps) {
  const { radius } = circle
  // The shaft ends inside of the head.
  const [startX, startY] = pointAt(circle, from)
  const [endX, endY] = pointAt(circle, to - 6 / radius)
  const [tipX, tipY] = pointAt(circle, to)
  const turn = ((to - 4 / radius) * 180) / Math.PI + 90
  const isLong = to - from > Math.PI ? 1 : 0
  return (
    <g>
      <path
        class="shaft"
        d={`M${startX} ${startY}A${radius} ${radius} 0 ${isLong} 1 ${endX} ${endY}`}
      />
      <path
        class="head"
        d="M0 0L-9 -5V5Z"
        transform={`translate(${tipX} ${tipY}) rotate(${turn.toFixed(1)})`}
      />
    </g>
  )
}

interface DiscProps {
  readonly circle: Circle
  readonly angle: number
  readonly number: number
  readonly lock: string
}

function Disc({ circle, angle, number, lock }: DiscProps) {
  const [x, y] = pointAt(circle, angle)
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
      {circle.hasLabels && (
        <text
          class="leaf"
          x={labelX}
          y={labelY}
          text-anchor={isBeside && side < 0 ? 'end' : 'start'}
        >
          {labelOf(lock)}
        </text>
      )}
    </g>
  )
}

/** Returns a short form of a name. Names of one cycle differ at their ends. */
function labelOf(lock: string): string {
  const shown = escapeText(lock)
  return shown.length > LABEL_LENGTH ? `…${shown.slice(1 - LABEL_LENGTH)}` : shown
}

function pointAt({ radius, middle }: Circle, angle: number): readonly [number, number] {
  return [round(WIDTH / 2 + radius * Math.cos(angle)), round(middle + radius * Math.sin(angle))]
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
