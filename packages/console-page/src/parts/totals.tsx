/** Four small lines: what there is now, and how it went since the console began. */
import type { ConsoleView } from '../../../holdfast/src/console/view.js'
import { useDuration } from '../format/duration.js'
import { useCount, useTexts } from '../text/language.js'

const WIDTH = 120
const HEIGHT = 28

interface Line {
  readonly name: string
  readonly figure: string
  readonly note?: string
  readonly points: readonly (number | null)[]
  readonly write: (value: number) => string
}

export function TotalLines({ view }: { view: ConsoleView }) {
  const texts = useTexts().totals
  const duration = useDuration()
  return (
    <section class="totals" aria-label={texts.heading}>
      {useLines(view).map(({ name, figure, note, points, write }) => (
        <figure key={name} class="total" title={texts.since(duration(view.lines.sinceMs))}>
          <figcaption>{name}</figcaption>
          <strong>{figure}</strong>
          {note !== undefined && <span class="note">{note}</span>}
          <Sparkline name={name} points={points} write={write} />
        </figure>
      ))}
    </section>
  )
}

function useLines({ totals, lines, store }: ConsoleView): Line[] {
  const texts = useTexts().totals
  const duration = useDuration()
  const count = useCount()
  const { isComplete } = totals
  const soFar = (figure: string): string => (isComplete ? figure : texts.atLeast(figure))
  return [
    {
      name: texts.locks,
      figure: soFar(count(totals.locks)),
      ...(isComplete && { note: texts.holders(count(totals.holders)) }),
      points: lines.locks,
      write: count,
    },
    {
      name: texts.waiters,
      figure: soFar(count(totals.waiters)),
      points: lines.waiters,
      write: count,
    },
    {
      name: texts.oldest,
      figure: soFar(totals.oldestWaitMs > 0 ? duration(totals.oldestWaitMs) : texts.none),
      points: lines.oldestWaitMs,
      write: duration,
    },
    {
      name: texts.latency,
      figure: store.latencyMs === undefined ? texts.none : duration(store.latencyMs),
      points: lines.latencyMs,
      write: duration,
    },
  ]
}

function Sparkline({ name, points, write }: Pick<Line, 'name' | 'points' | 'write'>) {
  const texts = useTexts().totals
  const known = points.filter((point) => point !== null)
  if (known.length < 2) return <span class="sparkline" />
  const least = Math.min(...known)
  const most = Math.max(...known)
  const x = (index: number): string => ((index / (points.length - 1)) * WIDTH).toFixed(1)
  // Small changes of a large number look small.
  const floor = Math.min(least, 0.8 * most)
  const part = (value: number): number => (value - floor) / (most - floor || 1)
  const y = (value: number): string => (HEIGHT - 2 - part(value) * (HEIGHT - 4)).toFixed(1)
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={texts.line(name, write(least), write(most))}
    >
      <path d={pathOf(points, x, y)} />
    </svg>
  )
}

/** Returns the path of a line, with a gap where a look had no answer. */
function pathOf(
  points: readonly (number | null)[],
  x: (index: number) => string,
  y: (value: number) => string,
): string {
  return points
    .map((point, index) => {
      if (point === null) return ''
      const isStart = index === 0 || points[index - 1] === null
      return `${isStart ? 'M' : 'L'}${x(index)} ${y(point)}`
    })
    .join('')
}
