/** Asks Sentinels where the primary is. */
import { StoreUnavailableError } from '../../index.js'
import { ConfigError } from '../cli-error.js'
import { withTimeout } from '../../clock/with-timeout.js'
import { shownHost, type RedisHost, type RedisTarget } from '../../url/redis-url.js'
import { type Connection, type RedisLibrary } from '../../url/redis-library.js'

/** A Sentinel that does not answer within this time is skipped. */
const ANSWER_LIMIT_MS = 2000

/**
 * @throws ConfigError when a Sentinel knows of no such primary, StoreUnavailableError when none
 * answers
 */
export async function primaryOf(library: RedisLibrary, target: RedisTarget): Promise<RedisHost> {
  const { hosts, master = '', sentinelCredentials: credentials, tls } = target
  const failures: string[] = []
  for (const host of hosts) {
    const sentinel: RedisTarget = {
      kind: 'single',
      hosts: [host],
      database: 0,
      ...(tls === undefined ? {} : { tls }),
      ...(credentials === undefined ? {} : { credentials }),
    }
    const address = shownHost(host)
    const connection = library.single(sentinel, host)
    let reply: unknown
    try {
      reply = await ask(connection, master)
    } catch (error) {
      failures.push(`${address}: ${error instanceof Error ? error.message : String(error)}`)
      continue
    } finally {
      connection.close()
    }
    if (!Array.isArray(reply)) {
      throw new ConfigError(
        `The Sentinel at ${address} knows no primary named ${JSON.stringify(master)}.`,
      )
    }
    return { host: String(reply[0]), port: Number(reply[1]) }
  }
  const refused = failures.some((text) => /WRONGPASS|NOAUTH|NOPERM/.test(text))
  throw new StoreUnavailableError(`No Sentinel names the primary. ${failures.join('; ')}`, {
    store: 'redis',
    ...(refused ? { code: 'STORE_AUTH' } : {}),
  })
}

function ask(connection: Connection, master: string): Promise<unknown> {
  const answer = connection.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master)
  return withTimeout(
    answer,
    ANSWER_LIMIT_MS,
    () => new Error(`no answer within ${ANSWER_LIMIT_MS} ms`),
  )
}
