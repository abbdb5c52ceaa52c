/**
 * Parses the URLs of databases: takes Holdfast's own option out of the query; the client library
 * gets the rest.
 */
import { nearest, editDistance } from '../options/nearest-word.js'
import { LockUsageError } from '../errors.js'
import { URL_OPTIONS, type UrlOptions } from './database-options.js'
import { shownOption, shownUrl } from './secrets.js'

/** A database URL: what the client library takes, and the options of the store. */
export interface DatabaseUrl {
  /** For the client library. */
  readonly url: string
  /** The value of our own parameter, which says where the tables are. */
  readonly own: string | undefined
}

/**
 * Returns a URL for the client library, without Holdfast's own option and what is ignored.
 * @throws LockUsageError when it names no server, or has an option that is unknown: the library
 * would ignore that, and connect without encryption, for example.
 */
export function databaseUrl(text: string, parameter: keyof typeof URL_OPTIONS): DatabaseUrl {
  const options = URL_OPTIONS[parameter]
  const url = parsed(text)
  if (url === undefined || (hostOf(url) === '' && !namesSocket(url))) {
    throw new LockUsageError(
      `${shownUrl(text)} names no server. Write ${text.split(':')[0]}://user@host/database.`,
    )
  }
  const query = url.searchParams
  const [own, ...more] = query.getAll(parameter)
  if (more.length > 0)
    throw new LockUsageError(`${shownUrl(text)} has the option ${parameter} twice.`)
  query.delete(parameter)
  for (const name of [...query.keys()]) {
    if (options.ignored.includes(name)) query.delete(name)
    else if (!options.passedOn.includes(name)) throw unknownOption(name, text, parameter, options)
  }
  return { url: url.href.replace(NO_HOST, ''), own }
}

/** Stands for the host of a URL with a user and without a host, which is none for `URL`. */
const NO_HOST = 'holdfast.no.host.invalid'

function parsed(text: string): URL | undefined {
  const candidates = [text, text.replace('@/', () => `@${NO_HOST}/`)]
  return candidates.filter((one) => URL.canParse(one)).map((one) => new URL(one))[0]
}

function hostOf({ host }: URL): string {
  return host === NO_HOST ? '' : host
}

function unknownOption(
  name: string,
  text: string,
  parameter: string,
  { passedOn, ignored, tls }: UrlOptions,
): LockUsageError {
  const shown = `${shownUrl(text)} has ${shownOption(name, new URLSearchParams(text.split('?')[1]))}`
  if (/ssl|tls/i.test(name)) {
    return new LockUsageError(`${shown}, which would not encrypt the connection. ${tls}`)
  }
  const near = nearestWithin(name, [parameter, ...passedOn, ...ignored])
  const misplaced = nearestWithin(name, PLACES) === undefined ? near : parameter
  const advice = misplaced === undefined ? 'Leave it out.' : `Did you mean ${misplaced}?`
  return new LockUsageError(`${shown}, which is unknown. ${advice}`)
}

/** The options that place the tables: in PostgreSQL and in MySQL. */
const PLACES = ['schema', 'prefix']
/** The names of the client libraries' options differ by more letters. */
const MISSPELT = 2

function nearestWithin(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name.toLowerCase(), known)
  return near !== undefined && editDistance(name.toLowerCase(), near.toLowerCase()) <= MISSPELT
    ? near
    : undefined
}

/**
 * Whether `?host=` names a folder with a socket, as PostgreSQL allows; `mysql2` needs a host as
 * well.
 */
function namesSocket({ protocol, searchParams }: URL): boolean {
  return protocol.startsWith('postgres') && (searchParams.get('host') ?? '') !== ''
}
