-- Where waiters become holders, and dead waiters leave the queue.
--
-- Input   key, state  the lock and its state
--         asking  the claim whose verb this is; it learns of its grant from the answer
--         at_end  whether the verb ends with this
-- Output  promote_waiters(key, state, asking, at_end)  whether anything changed

-- Makes holders of the waiters that fit, in order. The first one that lives and does not fit stops
-- the queue. Returns whether anything changed. At the end of a verb a next waiter that cannot fit
-- need not be checked for life. The next verb begins with that check. The grant is short until the
-- first renewal: a waiter that died a moment ago must not cost a TTL.
local function promote_waiters(key, state, asking, at_end)
  local changed = false
  while state[WAITERS] > 0 do
    local id = call('ZRANGE', key .. ':q', 0, 0)[1]
    if not id then
      state[WAITERS] = 0
      return true
    end
    local packed = call('HGET', key .. ':w', id)
    local waiter = packed and cmsgpack.unpack(packed)
    local lives_ms = waiter and waiter[HEARTBEAT] * HEARTBEATS_TO_LIVE
    if waiter and waiter[SEEN] + lives_ms > now then
      if not fits(state, waiter[WEIGHT]) then
        -- Heartbeats only lengthen its life, so that no verb needs to check before.
        state[STUCK_UNTIL] = waiter[SEEN] + lives_ms
        return true
      end
      local holder = grant(key, state, waiter, math.min(waiter[TTL], lives_ms), write_always)
      -- The claim whose verb this is learns it from the answer.
      if id ~= asking then note_grant(waiter[CHANNEL], holder) end
    end
    drop_waiter(key, state, id)
    changed = true
    if at_end and state[HELD] == state[CAPACITY] then return true end
  end
  return changed
end
