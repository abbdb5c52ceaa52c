-- The grant rule: a claim is granted when its weight and those of the holders fit the capacity and
-- no claim waits before it. It decides as the rule of the memory store does, step by step, and is
-- tested against it.
--
-- Input   key, state  the lock and its state
--         claim  the first fields of a holder or waiter
--         write  a function for the write, write_if_room or write_always
-- Output  fits(state, weight)  grant(key, state, claim, ttl_ms, write), which returns the holder
--         expire_and_promote(key, state, asking)  whether the head has changed

-- @include parts/next-token.lua
-- @include parts/holders.lua
-- @include parts/queue.lua

local function fits(state, weight)
  return state[HELD] + weight <= state[CAPACITY]
end

-- Makes a claim a holder.
local function grant(key, state, claim, ttl_ms, write)
  local token = next_token(state)
  local holder =
    { claim[ID], claim[OWNER], claim[WEIGHT], ttl_ms, claim[TOKENS], token, now, now + ttl_ms, false }
  state[LAST_TOKEN] = token + claim[TOKENS] - 1
  state[HELD] = state[HELD] + claim[WEIGHT]
  put_holder(key, state, holder, true, write)
  return holder
end

-- @include parts/expire-holders.lua
-- @include parts/promote-waiters.lua

-- Ends what has expired and lets the queue move up. Every verb begins with it. Returns whether the
-- head has changed.
local function expire_and_promote(key, state, asking)
  local expired = state[NEXT_EXPIRY] ~= 0 and now >= state[NEXT_EXPIRY] or is_miscounted(state)
  if expired then expire_holders(key, state) end
  local changed = expired or ring_emptied
  if state[WAITERS] > 0 and now >= state[STUCK_UNTIL] then return promote_waiters(key, state, asking) or changed end
  return changed
end
