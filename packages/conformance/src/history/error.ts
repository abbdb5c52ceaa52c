/** A history that cannot be read: the line, and what was expected there. */
export class HistoryError extends Error {
  /** Minifiers rename the class. @internal */
  static override readonly name: string = 'HistoryError'
  /** Counted from 1, empty lines included. */
  readonly line: number
  readonly expected: string

  /** @param found what is wrong, as the rest of a sentence that begins with the line */
  constructor(line: number, found: string, expected: string) {
    super(`Line ${line} of the history ${found}: expected ${expected}.`)
    this.name = 'HistoryError'
    this.line = line
    this.expected = expected
  }
}
