/** Text for people: nothing in it may move the cursor, and no credentials. */

/**
 * Makes text from elsewhere safe for a terminal. Labels and host names are written by other processes; an escape
 * sequence in one of them must not recolour, retitle or retype anything here.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are just what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (char) => {
    const code = char.codePointAt(0) ?? 0
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
  })
}

export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}

/**
 * Hides user names and passwords in every URL of a text, and secrets in query strings. What stands before an "@" is hidden
 * also where the URL is none, since a sign in the password was not escaped.
 */
export function redact(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s'"]*@/gi, '$1***@')
    .replace(/([?&](?:password|passwd|pwd|token|secret|auth)=)[^&\s'"]*/gi, '$1***')
}
