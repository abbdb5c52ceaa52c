/** `holdfast watch`: shows the locks in the terminal, and keeps them current. */
import { isatty } from 'node:tty'
import type { Locks } from '../../index.js'
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { parsePositiveDuration } from '../args/duration.js'
import { printHelp } from '../args/help.js'
import { operandsOf, prefixOf } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { findLocks } from '../output/all-locks.js'
import { stdout } from '../output/streams.js'
import { paintFor } from '../output/terminal.js'
import { failureOf } from '../failure.js'
import type { StoreLocation } from '../stores/locate.js'
import { withLocks } from '../stores/with-locks.js'
import { TerminalScreen } from '../watch/screen.js'
import { FIRST_STATE, press, type WatchState } from '../watch/state.js'
import { pageLinesOf, render } from '../watch/view.js'
import type { Command } from './command.js'

const OPTIONS = {
  interval: {
    type: 'string',
    value: 'DUR',
    help: 'The time between two requests to the store. Default 1s.',
  },
  ...STORE_OPTIONS,
  ...NAMESPACE_OPTION,
  help: OUTPUT_OPTIONS.help,
} as const satisfies OptionTable

const LIMIT = 1_000
const INTERVAL_MS = 1_000
const SHORTEST_INTERVAL_MS = 100
/** Between two drawings: the TTLs shrink without a request. */
const DRAW_MS = 250

export const command: Command = {
  help: {
    usage: 'holdfast watch [PREFIX] [options]',
    about: `Shows the locks in the terminal, with their holders, the TTL that is left, and their waiters: all of them,
or those whose names begin with PREFIX.`,
    options: OPTIONS,
    notes: `
Keys: q quits, s sorts by another column, r reverses, / filters by a part of the name, the arrows or j and k select,
home and end go to the first and the last lock, enter opens one, esc goes back. The table, its filter and its order
are of at most 1000 locks, and the summary says when there are more; PREFIX chooses others.

It needs a terminal. In a script use: holdfast ls --json`,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    const prefix = prefixOf(operandsOf(parsed), values.namespace)
    const intervalMs = intervalOf(values.interval)
    if (!isatty(0) || !isatty(1))
      throw new UsageError('watch needs a terminal. In a script use: holdfast ls --json')
    if (process.env['TERM'] === 'dumb')
      throw new UsageError(
        'watch needs a terminal that moves its cursor, and TERM is dumb. Use: holdfast ls',
      )
    return withLocks(values, (locks, location) => watch(locks, location, prefix, intervalMs))
  },
}

function intervalOf(text: string | undefined): number {
  if (text === undefined) return INTERVAL_MS
  return Math.max(SHORTEST_INTERVAL_MS, parsePositiveDuration('--interval', text))
}

function watch(
  locks: Locks,
  location: StoreLocation,
  prefix: string,
  intervalMs: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let state: WatchState = FIRST_STATE
    const paint = paintFor(stdout())
    const draw = (): void => {
      const nowMs = performance.now()
      const options = { size: screen.size, store: location.shown, nowMs, intervalMs, paint }
      try {
        screen.draw(render(state, options))
      } catch (error) {
        end()
        reject(error)
      }
    }
    const screen = new TerminalScreen({
      onRedraw: draw,
      onKey: (key) => {
        const next = press(state, key, pageLinesOf(screen.size))
        if (next === 'quit') {
          end()
          return resolve(EXIT.ok)
        }
        state = next
        draw()
      },
    })
    const drawing = setInterval(draw, DRAW_MS)
    const stopAsking = keepAsking(locks, prefix, intervalMs, (answer) => {
      state = { ...state, ...answer }
      draw()
    })
    const end = (): void => {
      clearInterval(drawing)
      stopAsking()
      screen.close()
    }
    screen.open()
    draw()
  })
}

type Answer = Partial<Pick<WatchState, 'locks' | 'truncated' | 'answeredMs'>> &
  Pick<WatchState, 'failure'>

/** Asks now, and again a while after each answer. Returns a function that ends this. */
function keepAsking(
  locks: Locks,
  prefix: string,
  intervalMs: number,
  onAnswer: (answer: Answer) => void,
): () => void {
  let next: NodeJS.Timeout | undefined
  let isOver = false
  const request = async (): Promise<void> => {
    const answer = await ask(locks, prefix)
    if (isOver) return
    next = setTimeout(() => void request(), intervalMs)
    onAnswer(answer)
  }
  void request()
  return () => {
    isOver = true
    clearTimeout(next)
  }
}

/** A failed request leaves the last answer on the screen. */
async function ask(locks: Locks, prefix: string): Promise<Answer> {
  try {
    return {
      ...(await findLocks(locks, prefix, LIMIT)),
      answeredMs: performance.now(),
      failure: undefined,
    }
  } catch (error) {
    return { failure: failureOf(error).message }
  }
}
