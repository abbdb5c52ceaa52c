/** The good lock's TAKE with one thing left out. Keys, arguments and answers are the same. */
import type { Script } from '../redis-connection.js'
import { TAKE_REST_LUA, takeRest } from './good.js'
import { NEXT_TOKEN_LUA } from './token.js'

/** A claim that was given up is not remembered. */
export const TAKE_WITHOUT_TOMBSTONE: Script = {
  name: 'take-without-tombstone',
  lua: `
${NEXT_TOKEN_LUA}
${TAKE_REST_LUA}`,
  run: takeRest,
}

/** The grant brings no fencing token. */
export const TAKE_WITHOUT_TOKEN: Script = {
  name: 'take-without-token',
  lua: `
if redis.call('EXISTS', KEYS[3]) == 1 then return {'withdrawn'} end
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then return {'existing'} end
if owner then return {'busy', redis.call('PTTL', KEYS[1])} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {'granted'}
`,
  run(call, [lock = '', , tombstone = ''], [id = '', ttlMs = '']) {
    if (call('EXISTS', tombstone) === 1) return ['withdrawn']
    const owner = call('GET', lock)
    if (owner === id) return ['existing']
    if (owner !== null) return ['busy', call('PTTL', lock)]
    call('SET', lock, id, 'PX', ttlMs)
    return ['granted']
  },
}
