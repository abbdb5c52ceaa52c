/**
 * URLs of databases: what is ours in the query is taken out, and the client library gets the rest.
 */
import { nearest, editDistance } from '../args/suggest.js'
import { UsageError } from '../cli-error.js'
import { shownOption, shownUrl } from './url-secrets.js'

export interface SqlUrl {
  /** For the client library. */
  readonly url: string
  /** The value of our own parameter, which says where the tables are. */
  readonly own: string | undefined
}

/** @throws UsageError when it names no server, or the mode that was removed */
export function sqlUrl(text: string, parameter: string): SqlUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.host === '' && !namesSocket(url))) {
    throw new UsageError(
      `${shownUrl(text)} names no server. Write ${text.split(':')[0]}://user@host/database.`,
    )
  }
  const [own, ...more] = url.searchParams.getAll(parameter)
  if (more.length > 0) throw new UsageError(`${shownUrl(text)} has the option ${parameter} twice.`)
  url.searchParams.delete(parameter)
  if (url.searchParams.has('mode')) {
    throw new UsageError(
      `${shownUrl(text)} has the option mode, which was removed, and session mode with it. Leave it out for locks in ` +
        'tables, which holdfast migrate makes.',
    )
  }
  for (const name of url.searchParams.keys())
    refuseMisspelt(name, parameter, text, url.searchParams)
  return { url: url.href, own }
}

/**
 * What of ours is written a little differently, the client library would take and ignore: locks in
 * another place, silently.
 */
function refuseMisspelt(
  name: string,
  parameter: string,
  text: string,
  query: URLSearchParams,
): void {
  if (nearestWithin(name.toLowerCase(), PLACES) === undefined) return
  throw new UsageError(
    `${shownUrl(text)} has ${shownOption(name, query)}. Did you mean ${parameter}?`,
  )
}

/** What says where the tables are: in PostgreSQL and in MySQL. */
const PLACES = ['schema', 'prefix']
/** Options of the client libraries are further away than this. */
const MISSPELT = 2

function nearestWithin(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known)
  return near !== undefined && editDistance(name, near) <= MISSPELT ? near : undefined
}

/**
 * PostgreSQL's own way to name a folder with a socket; `mysql2` wants a host beside the path of
 * one.
 */
function namesSocket({ protocol, searchParams }: URL): boolean {
  return protocol.startsWith('postgres') && (searchParams.get('host') ?? '') !== ''
}

/** The client library is installed beside the command line by who needs it. */
export function isMissing(error: unknown, library: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.includes(`'${library}'`)
  )
}
