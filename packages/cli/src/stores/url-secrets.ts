/**
 * What of a store's URL may be seen. A text that is given as the URL of a store is one from its
 * first sign to its last, so nothing here stops at a quote or a blank, which passwords have as
 * well.
 */

interface Parts {
  /** `redis://`, or what was written in its place. */
  readonly start: string
  readonly rest: string
  readonly query: readonly string[]
}

/** For people: without user and password, and without the values of secret parameters. */
export function shownUrl(url: string): string {
  // A folder has no password, and may have an @.
  if (/^embedded:/i.test(url)) return url
  // The last @ of all: a sign in the password that was not escaped may look like the end of the
  // address.
  const at = url.lastIndexOf('@')
  const { start, rest, query } = partsOf(at < 0 ? url : startOf(url) + url.slice(at + 1))
  const shown = query.map((pair) => (isSecret(pair) ? pair.replace(/=[^]*$/, '=***') : pair))
  return joined(`${start}${at < 0 ? '' : '***@'}${rest}`, shown)
}

/**
 * The URL as it still works for those who have the password from elsewhere. Only for one that a
 * store was opened with.
 */
export function withoutCredentials(url: string): string {
  const { start, rest, query } = partsOf(url)
  const [, user, place = ''] = /^(?:([^/]*)@)?([^]*)$/.exec(rest) ?? []
  const kept = query.filter((pair) => !isSecret(pair))
  return joined(`${start}${userAlone(start, user)}${place}`, kept)
}

/**
 * The name stays, since a file or a variable may have its password; but not where it is refused
 * without one.
 */
function userAlone(start: string, user: string | undefined): string {
  if (user === undefined) return ''
  const [name = ''] = user.split(':')
  const isRefused = user.includes(':') && /^(?:zk|etcds?):/i.test(start)
  return name === '' || isRefused ? '' : `${name}@`
}

/**
 * The name of an option that there is not. A password with a `?` that was not escaped goes on in
 * the query, up to its @, and a `=` or `&` in it makes names and values of it.
 */
export function shownOption(name: string, query: URLSearchParams): string {
  return /%40/.test(query.toString())
    ? 'an option that is unknown'
    : `the option ${JSON.stringify(name)}`
}

function startOf(url: string): string {
  return /^(?:[a-z][a-z0-9+.-]*:)?\/{0,2}/i.exec(url)?.[0] ?? ''
}

function partsOf(url: string): Parts {
  const start = startOf(url)
  const mark = url.indexOf('?', start.length)
  if (mark < 0) return { start, rest: url.slice(start.length), query: [] }
  const query = url.slice(mark + 1).split('&')
  return { start, rest: url.slice(start.length, mark), query }
}

function joined(address: string, query: readonly string[]): string {
  return query.length === 0 ? address : `${address}?${query.join('&')}`
}

const SECRET_NAME = /(?:password|passphrase|passwd|pwd|secret|token|auth)\d?$/i
/** A parameter can be an object in JSON, as `ssl` of mysql2 is, and so can its secret be. */
const SECRET_MEMBER = /^\s*\{[^]*(?:pass|secret|token|key|pfx|\\u)/i

function isSecret(pair: string): boolean {
  // As the stores read it: names may be escaped, too.
  const [[name, value] = ['', '']] = new URLSearchParams(pair)
  return SECRET_NAME.test(name) || SECRET_MEMBER.test(value)
}
