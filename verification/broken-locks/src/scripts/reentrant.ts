/** The scripts of V6, as Redisson has them: the lock is a hash from the owner to its hold count. */
import type { Script } from '../redis-connection.js'

/**
 * KEYS: lock. ARGV: owner, TTL in ms. Gives 1 if the owner holds the lock now, once more or for the
 * first time.
 */
export const ENTER: Script = {
  name: 'enter',
  lua: `
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`,
  run(call, [lock = ''], [owner = '', ttlMs = '']) {
    if (call('EXISTS', lock) === 1 && call('HEXISTS', lock, owner) === 0) return 0
    call('HINCRBY', lock, owner, 1)
    call('PEXPIRE', lock, ttlMs)
    return 1
  },
}

/**
 * KEYS: lock. ARGV: owner, TTL in ms. Gives 1 if the owner held the lock, whether or not it still
 * does.
 */
export const LEAVE: Script = {
  name: 'leave',
  lua: `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  redis.call('DEL', KEYS[1])
end
return 1
`,
  run(call, [lock = ''], [owner = '', ttlMs = '']) {
    if (call('HEXISTS', lock, owner) === 0) return 0
    if (Number(call('HINCRBY', lock, owner, -1)) > 0) call('PEXPIRE', lock, ttlMs)
    else call('DEL', lock)
    return 1
  },
}

/** KEYS: lock. ARGV: owner, TTL in ms. Gives 1, or 0 if the lock is not the owner's. */
export const RENEW_HASH: Script = {
  name: 'renew-hash',
  lua: `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`,
  run: (call, [lock = ''], [owner = '', ttlMs = '']) =>
    call('HEXISTS', lock, owner) === 0 ? 0 : call('PEXPIRE', lock, ttlMs),
}
