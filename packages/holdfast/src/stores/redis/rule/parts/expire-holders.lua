-- Where Redis learns of a dead holder: its claim has not been renewed in time. Any verb on the lock
-- finds it, since each begins with `expire_and_promote`. promote-waiters.lua drops dead waiters.
--
-- Input   key, state  the lock and its state
-- Output  is_miscounted(state)  expire_holders(key, state)

-- Whether the head's counts contradict each other. The holders' key may be evicted alone, and older
-- versions counted holders off that they had never counted.
local function is_miscounted(state)
  local held, sharing, sole = state[HELD], state[SHARING], state[SOLE]
  if sole then return held ~= sole[WEIGHT] or sharing ~= 0 end
  return (held ~= 0 or sharing ~= 0) and (sharing < 1 or held < sharing or state[NEXT_EXPIRY] == 0)
end

-- Ends the leases that are over, and counts the others again: a wrong count heals within one TTL.
-- Renewals leave NEXT_EXPIRY too early, which costs one more look.
local function expire_holders(key, state)
  local holders = all_holders(key, state)
  state[HELD], state[SHARING], state[NEXT_EXPIRY], state[STUCK_UNTIL] = 0, 0, 0, 0
  for _, holder in ipairs(holders) do
    state[HELD] = state[HELD] + holder[WEIGHT]
  end
  if not state[SOLE] then state[SHARING] = #holders end
  for _, holder in ipairs(holders) do
    if holder[EXPIRES] <= now then
      drop_holder(key, state, holder)
      add_tombstone(key, state, holder[ID], holder[TTL], ABSENT, true)
    end
  end
  for _, holder in ipairs(holders) do
    local expires = holder[EXPIRES]
    if expires > now and (state[NEXT_EXPIRY] == 0 or expires < state[NEXT_EXPIRY]) then
      state[NEXT_EXPIRY] = expires
    end
  end
end
