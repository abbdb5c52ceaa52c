/** Text for people: without escape sequences and without credentials. */

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

/**
 * Hides user names and passwords in every URL of a text, and secrets in query strings. Free text
 * does not mark the end of a URL, so this hides too much rather than too little. It hides all
 * before the last "@" up to a blank, also after a scheme whose slashes are missing. `shownUrl` does
 * this better for a text that is a URL.
 */
export function redact(text: string): string {
  return text
    .replace(ADDRESS, '$1***@')
    .replace(
      /([?&][\w-]*(?:password|passphrase|passwd|pwd|secret|token|auth)\d?=)[^&\s]*/gi,
      '$1***',
    )
    .replace(/([?&]\w+=)(?:\{.*|%7b[^&\s]*)/gi, '$1***')
}

const ADDRESS =
  /(\/\/|\b(?:rediss?|redlocks?|postgres(?:ql)?|mysql|mariadb|etcds?|zk|unix)(?:\+[a-z]+)?:\/{0,2})\S*@/gi
