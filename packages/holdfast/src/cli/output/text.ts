/** Text for people: without escape sequences. */

// oxlint-disable-next-line no-control-regex -- control characters are what this replaces
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes text from elsewhere safe for a terminal. Labels and host names are written by other
 * processes; an escape sequence in one of them must not recolour, retitle or retype anything here.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => {
    const code = char.codePointAt(0) ?? 0
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
  })
}

/** The same for text with several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
