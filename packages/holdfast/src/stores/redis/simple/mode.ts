/** Which mode a server allows, found out by trying. */
import { inTime } from '../../../clock/in-time.js'
import type { RedisClient } from '../clients.js'
import { explain, isUnknownScript } from '../errors.js'
import { Link } from '../link.js'
import { clusterTransportOf, transportOf } from '../open.js'
import type { ClusterTransport, Transport } from '../transports/transport.js'

type Mode = 'scripts' | 'simple'

export interface RedisModeOptions {
  readonly client: RedisClient
  /** How long the server may take to answer, in milliseconds. Default 5 000. */
  readonly timeoutMs?: number
}

/** Such as `NOPERM this user has no permissions to run the 'eval' command`, or `ERR unknown command 'EVAL'`. */
const BANNED = /^-?(NOPERM|ERR unknown command)/i

/**
 * Tries EVAL and EVALSHA. The answer is a value for the option `mode` of `redisStore`.
 * @throws StoreUnavailableError when the server cannot be asked, LockUsageError when the client is none that is known
 */
export async function redisMode({ client, timeoutMs = 5000 }: RedisModeOptions): Promise<Mode> {
  const members = clusterTransportOf(client)
  if (members) return within(timeoutMs, tryOut(members))
  const transport = transportOf(client)
  const link = new Link(transport, timeoutMs)
  try {
    return await link.call(() => tryOut(transport))
  } finally {
    link.close()
  }
}

async function tryOut(transport: Pick<Transport | ClusterTransport, 'command'>): Promise<Mode> {
  try {
    await transport.command('EVAL', 'return 1', '0')
    await transport.command('EVALSHA', '0'.repeat(40), '0')
  } catch (error) {
    if (isUnknownScript(error)) return 'scripts'
    if (error instanceof Error && BANNED.test(error.message)) return 'simple'
    throw error
  }
  return 'scripts'
}

/** The client of a Cluster may keep a command for as long as no member can be reached. */
function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return inTime(work, timeoutMs, () => new Error(`No answer within ${timeoutMs} ms`)).catch(
    (error: unknown) => {
      throw explain(error)
    },
  )
}
