/** The release of V4 and V5: compare the owner and delete, in one step. */
import type { Script } from '../redis-connection.js'

/** KEYS: lock. ARGV: owner. Gives 1, or 0 if the lock is not the owner's. */
export const COMPARE_AND_DELETE: Script = {
  name: 'compare-and-delete',
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`,
  run: (call, [lock = ''], [owner = '']) => (call('GET', lock) === owner ? call('DEL', lock) : 0),
}
