/** Refuses requests that a page of another site makes a browser send. */
import { ApiFailure } from './failure.js'

/**
 * Checks where a request of the API comes from. Browsers send `Sec-Fetch-Site` to https and to
 * loopback only; elsewhere `Origin` decides. Other programs send neither.
 * @param origin the origin of the console, where a proxy hides it
 * @throws ApiFailure for a request of another site.
 */
export function checkOrigin(request: Request, origin: string | undefined): void {
  const site = request.headers.get('sec-fetch-site')
  // `none`: the user typed the address. Another port or subdomain is `same-site`.
  if (site !== null && site !== 'same-origin' && site !== 'none') throw foreign()
  const from = request.headers.get('origin')
  if (from === null) return
  const isOwn = origin === undefined ? hostOf(from) === hostFor(request) : from === origin
  if (!isOwn) throw foreign()
}

/** Returns the host that a request names, with its port. */
export function hostFor(request: Request): string | undefined {
  return (request.headers.get('host') ?? hostOf(request.url))?.toLowerCase()
}

function hostOf(url: string): string | undefined {
  // Of `null`, which is the origin of a sandboxed page, there is none.
  return URL.canParse(url) ? new URL(url).host : undefined
}

function foreign(): ApiFailure {
  return new ApiFailure(
    403,
    'FOREIGN_ORIGIN',
    'The request comes from a page of another site. Behind a proxy that rewrites Host, set the option origin.',
  )
}
