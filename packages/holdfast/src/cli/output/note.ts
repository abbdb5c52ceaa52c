import { stderr } from './streams.js'
import { printableLines } from './text.js'

/** Writes a remark to stderr. The prefix separates it from the output of the command. */
export function note(text: string): void {
  stderr().write(`holdfast: ${printableLines(text)}\n`)
}
