/**
 * Parses the URLs of databases: takes Holdfast's own option out of the query; the client library
 * gets the rest.
 */
import { nearest, editDistance } from '../options/nearest-word.js'
import { LockUsageError } from '../errors.js'
import { shownOption, shownUrl } from './secrets.js'

export interface DatabaseUrl {
  /** For the client library. */
  readonly url: string
  /** The value of our own parameter, which says where the tables are. */
  readonly own: string | undefined
}

/** @throws LockUsageError when it names no server, or has the option `mode` */
export function databaseUrl(text: string, parameter: string): DatabaseUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.host === '' && !namesSocket(url))) {
    throw new LockUsageError(
      `${shownUrl(text)} names no server. Write ${text.split(':')[0]}://user@host/database.`,
    )
  }
  const [own, ...more] = url.searchParams.getAll(parameter)
  if (more.length > 0)
    throw new LockUsageError(`${shownUrl(text)} has the option ${parameter} twice.`)
  url.searchParams.delete(parameter)
  if (url.searchParams.has('mode')) {
    throw new LockUsageError(
      `${shownUrl(text)} has the option mode, which does not exist. Leave it out.`,
    )
  }
  for (const name of url.searchParams.keys())
    refuseMisspelt(name, parameter, text, url.searchParams)
  return { url: url.href, own }
}

/**
 * Refuses a misspelt option. The client library would ignore it, and the locks would be in another
 * place.
 */
function refuseMisspelt(
  name: string,
  parameter: string,
  text: string,
  query: URLSearchParams,
): void {
  if (nearestWithin(name.toLowerCase(), PLACES) === undefined) return
  throw new LockUsageError(
    `${shownUrl(text)} has ${shownOption(name, query)}. Did you mean ${parameter}?`,
  )
}

/** The options that place the tables: in PostgreSQL and in MySQL. */
const PLACES = ['schema', 'prefix']
/** The names of the client libraries' options differ by more letters. */
const MISSPELT = 2

function nearestWithin(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known)
  return near !== undefined && editDistance(name, near) <= MISSPELT ? near : undefined
}

/**
 * Whether `?host=` names a folder with a socket, as PostgreSQL allows; `mysql2` needs a host as
 * well.
 */
function namesSocket({ protocol, searchParams }: URL): boolean {
  return protocol.startsWith('postgres') && (searchParams.get('host') ?? '') !== ''
}
