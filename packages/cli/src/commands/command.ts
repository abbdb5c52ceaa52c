/** What a command is to the dispatcher. */
import type { HelpPage } from '../args/help.js'

export interface Command {
  readonly help: HelpPage
  /** Resolves with the exit code. What it throws is reported and turned into one. */
  main(argv: readonly string[]): Promise<number>
}
