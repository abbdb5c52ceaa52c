/** Commands on expiry. */
import type { Reply } from '../redis-connection.js'
import { integer, takes, type ModelCommand, type Server } from './command.js'

export const EXPIRY: Record<string, ModelCommand> = {
  EXPIRE: takes(2, 2, (server, [key = '', seconds = '']) =>
    expire(server, key, integer(seconds) * 1000),
  ),
  PEXPIRE: takes(2, 2, (server, [key = '', ms = '']) => expire(server, key, integer(ms))),
  PTTL: takes(1, 1, ({ keys }, [key = '']) => {
    if (!keys.has(key)) return -2
    const expiresAtMs = keys.expiresAtMs(key)
    return expiresAtMs === undefined ? -1 : expiresAtMs - keys.nowMs
  }),
}

function expire({ keys }: Server, key: string, ms: number): Reply {
  if (!keys.has(key)) return 0
  // Redis deletes what is to expire now or in the past.
  if (ms <= 0) keys.delete(key)
  else keys.expire(key, keys.nowMs + ms)
  return 1
}
