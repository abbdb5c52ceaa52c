/** What the scripts once lacked, taken out of them again. */
import type { ScriptEdit } from './clocked.js'

/** The count stays as it is when leases end, whether or not the holders' key has them. */
export const NO_RECOUNT: readonly ScriptEdit[] = [
  { find: 'state[4], state[8], state[5], state[15] = 0, 0, 0, 0', replace: 'state[5] = 0' },
  { find: 'state[4] = state[4] + holder[3]\nend\nif not state[13]', replace: 'end\nif false' },
  { find: ' or is_miscounted(state)', replace: '' },
  // Later versions refuse to write such a count.
  { find: 'if state[4] < 0 or state[6] < 0 or state[8] < 0 then', replace: 'if false then' },
]

/** A head that is gone says that nothing is held, and its holders' key still holds the dead. */
export const DEAD_HOLDERS: readonly ScriptEdit[] = [
  { find: "if is_new and state[8] == 0 then clear_hash(key .. ':h') end\n", replace: '' },
  // Otherwise the first look at the ends of leases makes up for it.
  ...NO_RECOUNT,
]

/** The same with the queue. */
export const DEAD_WAITERS: readonly ScriptEdit[] = [
  { find: "clear_hash(key .. ':w')\nif call('ZCARD'", replace: "if false and call('ZCARD'" },
]

/** A waiter whose place was evicted gets the answer that it waits. */
export const LOST_PLACE: readonly ScriptEdit[] = [
  { find: "local is_back = call('ZADD'", replace: "local is_back = false and call('ZADD'" },
]
