/** What a command is to the dispatcher. */
import type { HelpPage } from '../args/help.js'

export interface Command {
  readonly help: HelpPage
  /**
   * Whether it takes over the signals from the start by itself, through the second argument of
   * `main`. The other commands end by them.
   */
  readonly takesSignals?: true
  /** Resolves with the exit code. What it throws is reported and turned into one. */
  main(argv: readonly string[], takeSignal: TakeSignal): Promise<number>
}

/** A command in the list of all. */
export interface CommandEntry {
  readonly about: string
  readonly load: () => Command
}

/** Stops listening for signals on behalf of the start, and returns the one that came first. */
export type TakeSignal = () => NodeJS.Signals | undefined
