/** URLs of databases: what is ours in the query is taken out, and the client library gets the rest. */
import { UsageError } from '../cli-error.js'
import { redact } from '../output/text.js'

export interface SqlUrl {
  /** For the client library. */
  readonly url: string
  /** The value of our own parameter. */
  readonly own: string | undefined
}

export function sqlUrl(text: string, parameter: string): SqlUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.host === '') {
    throw new UsageError(`${redact(text)} names no server. Write ${text.split(':')[0]}://user@host/database.`)
  }
  const own = url.searchParams.get(parameter) ?? undefined
  url.searchParams.delete(parameter)
  return { url: url.href, own }
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
