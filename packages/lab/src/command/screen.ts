/**
 * What the lab shows while it works: one line that changes on a terminal, and nothing of it
 * elsewhere.
 */
import { cutTo } from './toolkit.js'

export class Screen {
  readonly #live = process.stderr.isTTY
  readonly #quiet: boolean

  /** @param quiet for `--json`: only the result */
  constructor(quiet: boolean) {
    this.#quiet = quiet
  }

  /** Shows what happens right now, instead of what it showed before. */
  progress(text: string): void {
    // A line that wraps could not be taken back, and the last column may wrap already.
    if (this.#live && !this.#quiet)
      process.stderr.write(`\r\u001b[K${cutTo(process.stderr.columns - 1, text)}`)
  }

  print(text: string): void {
    if (this.#quiet) return
    this.clear()
    process.stdout.write(`${text}\n`)
  }

  /** Headings stand out where that is possible. */
  heading(text: string): void {
    this.print(process.stdout.isTTY ? `\n\u001b[1m${text}\u001b[0m` : `\n${text}`)
  }

  clear(): void {
    if (this.#live && !this.#quiet) process.stderr.write('\r\u001b[K')
  }
}
