/** Access for each request that has the token of `holdfast console`. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { AccessRule } from './access-rule.js'
import type { Grant } from './access.js'
import { ApiFailure } from './failure.js'
import { hostFor } from './origin.js'

/**
 * @param isOwnHost whether a request may name this host: a page of another site can point a name of
 * its own at this machine
 */
export function tokenRule(
  token: string,
  grant: Grant,
  isOwnHost: (host: string) => boolean,
): AccessRule {
  const expected = digest(token)
  return {
    guardsPage: false,
    async grantFor(request) {
      const host = hostFor(request)
      if (host === undefined || !isOwnHost(host))
        throw new ApiFailure(421, 'FOREIGN_HOST', 'This console has another host name.')
      const given = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
      if (given !== undefined && timingSafeEqual(digest(given), expected)) return grant
      throw new ApiFailure(
        401,
        'NO_TOKEN',
        'The token is missing or wrong. Use the address that holdfast console printed.',
      )
    },
  }
}

/** Of equal lengths, as the comparison needs them. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
