-- The queue of a lock: waiters join it, are heard of again, and leave it.
--
-- Input   key, state  the lock and its state
--         waiter  the fields of a waiter as base.lua numbers them
-- Output  join_queue, hear_again, drop_waiter

local function join_queue(key, state, waiter)
  if state[WAITERS] == 0 then
    clear_hash(key .. ':w')
    if call('ZCARD', key .. ':q') > 0 then call('PEXPIRE', key .. ':q', -1) end
  end
  local number = state[SEQUENCE] + 1
  call('ZADD', key .. ':q', string.format('%.0f', number), waiter[ID])
  call('HSETNX', key .. ':w', waiter[ID], cmsgpack.pack(waiter))
  state[SEQUENCE] = number
  state[WAITERS] = state[WAITERS] + 1
  need_until(state, now + waiter[HEARTBEAT] * HEARTBEATS_TO_LIVE)
  keep_helpers(key, state, state[WAITERS] == 1)
end

-- A waiter is heard of again. Returns false when it does not wait. One whose place was evicted goes
-- to the end.
local function hear_again(key, state, id, owner, tokens)
  local packed = state[WAITERS] > 0 and call('HGET', key .. ':w', id)
  if not packed then return false end
  local waiter = cmsgpack.unpack(packed)
  waiter[SEEN] = now
  waiter[OWNER] = owner
  waiter[TOKENS] = tokens
  write_always(key, 'HSET', key .. ':w', id, cmsgpack.pack(waiter))
  need_until(state, now + waiter[HEARTBEAT] * HEARTBEATS_TO_LIVE)
  local number = state[SEQUENCE] + 1
  local is_back = call('ZADD', key .. ':q', 'NX', string.format('%.0f', number), id) == 1
  if is_back then state[SEQUENCE] = number end
  -- The helper keys are kept also when a holder needs the state for longer than the waiter does. A
  -- holder of all of a lock has no helper key of its own and keeps none. So its renewals would
  -- outlive the queue behind it.
  local helpers_until = state[HELPERS_UNTIL]
  keep_helpers(key, state, is_back)
  return true, is_back or state[HELPERS_UNTIL] ~= helpers_until
end

local function drop_waiter(key, state, id)
  call('ZREM', key .. ':q', id)
  call('HDEL', key .. ':w', id)
  state[WAITERS] = state[WAITERS] - 1
  state[STUCK_UNTIL] = 0
end
