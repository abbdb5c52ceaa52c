/**
 * The scripts of the good lock.
 *
 * The lock is a string, its value the claim's id. A counter beside it gives the fencing tokens. A
 * tombstone remembers a withdrawn claim, with the answer of its release. So both an attempt and a
 * release may arrive twice, or late.
 */
import type { Script } from '../redis-connection.js'
import { nextToken, NEXT_TOKEN_LUA } from './token.js'

/** What TAKE does with a claim that was not given up. */
export const TAKE_REST_LUA = `local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  return {'existing', redis.call('GET', KEYS[2]) or next_token(KEYS[2], ARGV[3])}
end
if owner then return {'busy', redis.call('PTTL', KEYS[1])} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {'granted', next_token(KEYS[2], ARGV[3])}
`

export const takeRest: Script['run'] = (
  call,
  [lock = '', counter = ''],
  [id = '', ttlMs = '', counterTtlMs = ''],
) => {
  const owner = call('GET', lock)
  if (owner === id)
    return ['existing', call('GET', counter) ?? nextToken(call, counter, counterTtlMs)]
  if (owner !== null) return ['busy', call('PTTL', lock)]
  call('SET', lock, id, 'PX', ttlMs)
  return ['granted', nextToken(call, counter, counterTtlMs)]
}

/**
 * KEYS: lock, token counter, the claim's tombstone. ARGV: claim id, TTL in ms, TTL of the counter
 * in ms. Gives {'granted' or 'existing', token} · {'busy', ms until it expires} · {'withdrawn'}
 */
export const TAKE: Script = {
  name: 'take',
  lua: `
${NEXT_TOKEN_LUA}
if redis.call('EXISTS', KEYS[3]) == 1 then return {'withdrawn'} end
${TAKE_REST_LUA}`,
  run(call, keys, args) {
    const [, , tombstone = ''] = keys
    if (call('EXISTS', tombstone) === 1) return ['withdrawn']
    return takeRest(call, keys, args)
  },
}

/** KEYS: lock. ARGV: claim id, TTL in ms. Gives 1, or 0 if the lock is not this claim's. */
export const RENEW: Script = {
  name: 'renew',
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`,
  run(call, [lock = ''], [id = '', ttlMs = '']) {
    if (call('GET', lock) !== id) return 0
    return call('PEXPIRE', lock, ttlMs)
  },
}

/**
 * KEYS: lock, the claim's tombstone. ARGV: claim id, TTL of the tombstone in ms, channel.
 * Gives 1 if the claim held the lock until now, else 0; and the same again when it is asked again.
 */
export const FREE: Script = {
  name: 'free',
  lua: `
local before = redis.call('GET', KEYS[2])
if before then return tonumber(before) end
local held = redis.call('GET', KEYS[1]) == ARGV[1]
redis.call('SET', KEYS[2], held and 1 or 0, 'PX', ARGV[2])
if not held then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 1
`,
  run(call, [lock = '', tombstone = ''], [id = '', tombstoneTtlMs = '', channel = '']) {
    const before = call('GET', tombstone)
    if (before !== null) return Number(before)
    const held = call('GET', lock) === id
    call('SET', tombstone, held ? 1 : 0, 'PX', tombstoneTtlMs)
    if (!held) return 0
    call('DEL', lock)
    call('PUBLISH', channel, id)
    return 1
  },
}
