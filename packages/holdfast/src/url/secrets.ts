/**
 * Hides the secrets of a store's URL. The whole text is the URL, so nothing here stops at a quote
 * or a blank, which passwords contain as well.
 */
import { editDistance } from '../options/nearest-word.js'

interface Parts {
  /** `redis://`, or the text that stands there. */
  readonly start: string
  readonly rest: string
  readonly query: readonly string[]
}

/** Returns the URL for people: without user, password and the values of secret options. */
export function shownUrl(url: string): string {
  // A folder has no password, and may contain an @.
  if (/^embedded:/i.test(url)) return url
  // The last @: an unescaped character in the password may look like the end of the address.
  const at = url.lastIndexOf('@')
  const { start, rest, query } = partsOf(at < 0 ? url : startOf(url) + url.slice(at + 1))
  const shown = query.map((pair) => (isSecret(pair) ? pair.replace(/=[^]*$/, '=***') : pair))
  return joined(`${start}${at < 0 ? '' : '***@'}${rest}`, shown)
}

/**
 * Returns the URL without passwords, for a process that has the password from elsewhere. Call it
 * only with a URL that opened a store.
 */
export function withoutCredentials(url: string): string {
  const { start, rest, query } = partsOf(url)
  const [, user, place = ''] = /^(?:([^/]*)@)?([^]*)$/.exec(rest) ?? []
  const kept = query.filter((pair) => !isSecret(pair))
  return joined(`${start}${userAlone(start, user)}${place}`, kept)
}

/**
 * Keeps the user's name, since a file or a variable may have the password; drops it where the store
 * refuses a name alone.
 */
function userAlone(start: string, user: string | undefined): string {
  if (user === undefined) return ''
  const [name = ''] = user.split(':')
  const isRefused = user.includes(':') && /^(?:zk|etcds?):/i.test(start)
  return name === '' || isRefused ? '' : `${name}@`
}

/**
 * Returns an unknown option for a message. A password with an unescaped `?` continues in the query
 * up to its @. A `=` or `&` in the password makes options of it; then the name is hidden.
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
/** A name that is nearly one of these may be a misspelt one. */
const NEARLY_SECRET = ['password', 'passwd', 'passphrase', 'secret']
const MISSPELT = 2
/** An option can be a JSON object with a secret, as `ssl` of mysql2 is. */
const SECRET_MEMBER = /^\s*\{[^]*(?:pass|secret|token|key|pfx|\\u)/i

function isSecret(pair: string): boolean {
  // As the stores read it: names may be escaped too.
  const [[name, value] = ['', '']] = new URLSearchParams(pair)
  return SECRET_NAME.test(name) || isNearlySecret(name) || SECRET_MEMBER.test(value)
}

function isNearlySecret(name: string): boolean {
  const small = name.toLowerCase()
  return NEARLY_SECRET.some((known) => editDistance(small, known) <= MISSPELT)
}
