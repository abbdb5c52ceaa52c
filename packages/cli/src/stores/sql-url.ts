/** URLs of databases: what is ours in the query is taken out, and the client library gets the rest. */
import { nearest, editDistance } from '../args/suggest.js'
import { UsageError } from '../cli-error.js'
import { shownOption, shownUrl } from './url-secrets.js'

export interface SqlUrl {
  /** For the client library. */
  readonly url: string
  /** The value of our own parameter, which says where the tables are. */
  readonly own: string | undefined
  /** Undefined when locks are rows in tables. */
  readonly mode: 'session' | undefined
}

/** @throws UsageError when it names no server, or a mode that there is not */
export function sqlUrl(text: string, parameter: string): SqlUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.host === '' && !namesSocket(url))) {
    throw new UsageError(
      `${shownUrl(text)} names no server. Write ${text.split(':')[0]}://user@host/database.`,
    )
  }
  const [own, mode] = [parameter, 'mode'].map((name) => {
    const values = url.searchParams.getAll(name)
    if (values.length > 1) throw new UsageError(`${shownUrl(text)} has the option ${name} twice.`)
    url.searchParams.delete(name)
    return values[0]
  })
  for (const name of url.searchParams.keys()) refuseMisspelt(name, parameter, text, url.searchParams)
  if (mode !== undefined && mode !== 'session') {
    throw new UsageError(
      `${shownUrl(text)} has the mode ${JSON.stringify(mode)}. Write mode=session, or leave it out for locks in tables.`,
    )
  }
  if (mode !== undefined && own !== undefined) {
    throw new UsageError(
      `${shownUrl(text)} has both mode=session, which needs no tables, and ${parameter}. Leave out one.`,
    )
  }
  return { url: url.href, own, mode }
}

/** What of ours is written a little differently, the client library would take and ignore: locks in another place, silently. */
function refuseMisspelt(name: string, parameter: string, text: string, query: URLSearchParams): void {
  const near = nearestWithin(name.toLowerCase(), [...PLACES, 'mode'])
  if (near === undefined) return
  const meant = near === 'mode' ? near : parameter
  throw new UsageError(`${shownUrl(text)} has ${shownOption(name, query)}. Did you mean ${meant}?`)
}

/** What says where the tables are: in PostgreSQL and in MySQL. */
const PLACES = ['schema', 'prefix']
/** Options of the client libraries are further away than this. */
const MISSPELT = 2

function nearestWithin(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known)
  return near !== undefined && editDistance(name, near) <= MISSPELT ? near : undefined
}

/** PostgreSQL's own way to name a folder with a socket; `mysql2` wants a host beside the path of one. */
function namesSocket({ protocol, searchParams }: URL): boolean {
  return protocol.startsWith('postgres') && (searchParams.get('host') ?? '') !== ''
}

/** The same, for what only locks in tables need. */
export function tablesUrl(text: string, parameter: string): SqlUrl {
  const parsed = sqlUrl(text, parameter)
  if (parsed.mode === undefined) return parsed
  throw new UsageError(
    'mode=session needs no migration: its locks are not in tables. Leave out the mode for those that are.',
  )
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
