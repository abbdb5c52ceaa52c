/**
 * What the lab shows while it works: one line that changes on a terminal, and nothing of it
 * elsewhere.
 */
import { fill, type Texts } from '../index.js'
import {
  cutTo,
  fold,
  leftOutColumns,
  paintFor,
  renderTable,
  widthOf,
  type Column,
} from 'holdfast/internal'

export class Screen {
  readonly #live = process.stderr.isTTY && process.env['TERM'] !== 'dumb'
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

  /** Prints prose, broken into lines that fit a terminal. */
  print(text: string): void {
    const columns = widthOf(process.stdout)
    this.draw(
      text
        .split('\n')
        .flatMap((line) => fold(line, columns))
        .join('\n'),
    )
  }

  /** Prints what has lines of its own. */
  draw(text: string): void {
    if (this.#quiet) return
    this.clear()
    process.stdout.write(`${text}\n`)
  }

  /** Prints a table. Names the columns that the terminal has no room for. */
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], texts: Texts): void {
    const width = widthOf(process.stdout)
    this.draw(renderTable(rows, columns, { width }).trimEnd())
    const missing = leftOutColumns(rows, columns, width)
    const listed = missing.join(texts.punctuation.comma)
    if (missing.length > 0) this.print(`\n${fill(texts.wider, { columns: listed })}`)
  }

  /** Headings stand out where that is possible. */
  heading(text: string): void {
    this.draw(`\n${paintFor(process.stdout)('bold', text)}`)
  }

  clear(): void {
    if (this.#live && !this.#quiet) process.stderr.write('\r\u001b[K')
  }
}
