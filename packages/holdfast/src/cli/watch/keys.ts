/** Turns the bytes of a terminal in raw mode into keys. */
import type { Key } from './state.js'

const SEQUENCES: Readonly<Record<string, Key>> = {
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
  '\u001b[H': 'home',
  '\u001bOH': 'home',
  '\u001b[1~': 'home',
  '\u001b[7~': 'home',
  '\u001b[F': 'end',
  '\u001bOF': 'end',
  '\u001b[4~': 'end',
  '\u001b[8~': 'end',
  '\u001b[5~': 'page-up',
  '\u001b[6~': 'page-down',
  '\u001b': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'interrupt',
  '\u0004': 'interrupt',
  '\u001a': 'suspend',
}

// oxlint-disable-next-line no-control-regex -- the sequences that terminals send
const PART = /\u001b(?:\[[\d;]*[~A-Za-z]|O[A-Za-z])?|[^\u001b]/gu

/** A pasted text, or keys that come together, arrive as one chunk. */
export function keysIn(chunk: string): Key[] {
  return (chunk.match(PART) ?? []).flatMap((part) => {
    const known = SEQUENCES[part]
    if (known !== undefined) return [known]
    // An unknown sequence or control character means nothing here.
    return part.startsWith('\u001b') || part < ' ' ? [] : [part]
  })
}
