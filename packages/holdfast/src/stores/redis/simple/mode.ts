/** Which mode a server allows, found out by trying. */
import type { RedisClient } from '../clients.js'
import { explain, isUnknownScript } from '../errors.js'
import { clusterTransportOf, transportOf } from '../open.js'

/** Such as `NOPERM this user has no permissions to run the 'eval' command`, or `ERR unknown command 'EVAL'`. */
const BANNED = /^-?(NOPERM|ERR unknown command)/i

/**
 * Tries EVAL and EVALSHA. The answer is a value for the option `mode` of `redisStore`.
 * @throws StoreUnavailableError when the server cannot be asked, LockUsageError when the client is none that is known
 */
export async function redisMode({ client }: { readonly client: RedisClient }): Promise<'scripts' | 'simple'> {
  const transport = clusterTransportOf(client) ?? transportOf(client)
  try {
    await transport.command('EVAL', 'return 1', '0')
    await transport.command('EVALSHA', '0'.repeat(40), '0')
  } catch (error) {
    if (isUnknownScript(error)) return 'scripts'
    if (error instanceof Error && BANNED.test(error.message)) return 'simple'
    throw explain(error)
  }
  return 'scripts'
}
