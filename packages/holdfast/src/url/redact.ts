/** Hides secrets in free text, such as a command line or the message of an error. */

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
