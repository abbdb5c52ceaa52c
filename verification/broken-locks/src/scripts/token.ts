/** The next fencing token, for scripts to use. */
import type { SendCommand, Script } from '../redis-connection.js'

/**
 * Larger than the last one, and at least the server's time in µs: so that tokens still grow when
 * the counter got lost. Lua must print it with %.0f, for `..` and tostring lose digits.
 */
export const NEXT_TOKEN_LUA = `
local function next_token(counter, ttl_ms)
  local time = redis.call('TIME')
  local last = tonumber(redis.call('GET', counter) or 0)
  local token = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
  redis.call('SET', counter, token, 'PX', ttl_ms)
  return token
end
`.trim()

export function nextToken(call: SendCommand, counter: string, ttlMs: string): string {
  const [seconds, micros] = call('TIME') as readonly string[]
  const last = Number(call('GET', counter) ?? 0)
  const token = String(Math.max(last + 1, Number(seconds) * 1_000_000 + Number(micros)))
  call('SET', counter, token, 'PX', ttlMs)
  return token
}

/** KEYS: token counter. ARGV: its TTL in ms. Gives the token. */
export const NEXT_TOKEN: Script = {
  name: 'next-token',
  lua: `
${NEXT_TOKEN_LUA}
return next_token(KEYS[1], ARGV[1])
`,
  run: (call, [counter = ''], [ttlMs = '']) => nextToken(call, counter, ttlMs),
}
