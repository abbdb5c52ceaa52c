/** A client whose server believes in a time that the test sets. */
import type { IoRedisClient } from 'holdfast/redis'

const TIME_KEY = 'test:time'

/**
 * Sets the time, and takes what has passed off the TTLs of the store's keys: the server ends them
 * by its own clock. What passed by that one is put back.
 */
const SET_TIME = `
local real = redis.call('TIME')
local real_ms = real[1] * 1000 + math.floor(real[2] / 1000)
local last = redis.call('HMGET', KEYS[2], 'set', 'real')
redis.call('SET', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'set', ARGV[2], 'real', string.format('%.0f', real_ms))
if not last[1] then return end
local passed = ARGV[2] - last[1] - (real_ms - last[2])
for _, key in ipairs(redis.call('KEYS', 'hf:*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, math.floor(left - passed)) end
end`

/** One replacement in the scripts. */
export interface ScriptEdit {
  readonly find: string
  readonly replace: string
}

/**
 * Wraps a client so that scripts read the time from a key. Only the edits of a mutation change them
 * further. The test fails if the scripts read the time in any other way than it knows.
 */
export function clockedClient(
  inner: IoRedisClient,
  edits: readonly ScriptEdit[] = [],
): {
  readonly client: IoRedisClient
  setTime(nowMs: number): Promise<unknown>
} {
  const client: IoRedisClient = {
    get status() {
      return inner.status
    },
    options: inner.options,
    call(command, ...args) {
      // The store then sends the source.
      if (command === 'evalsha') return Promise.reject(new Error('NOSCRIPT No matching script.'))
      if (command !== 'eval') return inner.call(command, ...args)
      const [source = '', ...rest] = args
      const clocked = source.replace("call('TIME')", `cjson.decode(call('GET', '${TIME_KEY}'))`)
      if (clocked === source || /TIME'/.test(clocked))
        throw new Error('the script reads the time in another way')
      return inner.call('eval', edits.reduce(edited, clocked), ...rest)
    },
    duplicate: (override) => inner.duplicate(override),
    on: (event, listener) => inner.on(event, listener),
    off: (event, listener) => inner.off(event, listener),
  }
  return {
    client,
    setTime(nowMs) {
      const [seconds, micros] = [Math.floor(nowMs / 1000), Math.round((nowMs % 1000) * 1000)]
      const time = JSON.stringify([String(seconds), String(micros)])
      return inner.call('EVAL', SET_TIME, '2', TIME_KEY, `${TIME_KEY}:last`, time, String(nowMs))
    },
  }
}

function edited(source: string, { find, replace }: ScriptEdit): string {
  const parts = source.split(find)
  // Not every script has every part. A mutation that is in none of them is not caught, and fails
  // its test.
  if (parts.length > 2) throw new Error(`The scripts have several of: ${find}`)
  return parts.join(replace)
}
