-- Lets another claim hold the lock in the place of the one that holds it. Answers as an attempt
-- that was granted, or as a renewal that was not: "l" lost, "s <reason>" stolen. "a" means that a
-- third claim has adopted the lease.
--
-- The new claim gets a larger token, so that resources refuse what the old one still sends. A lease
-- that is detached keeps its token: no process works under it until it is adopted.
--
-- A request that is sent again, or arrives late, finds the new claim as a holder or withdrawn. So
-- it grants nothing twice.
--
-- Input   key  the lock
--         from, from_ttl_ms  the claim that holds, and for how long it is refused from then on
--         token  a token of its grant
--         to, ttl_ms, owner  the new claim
--         is_detached  whether the lease keeps its token
-- Output  adopt(key, from, from_ttl_ms, token, to, ttl_ms, owner, is_detached)  the line

local function has_heir(key, state, from)
  for _, holder in ipairs(all_holders(key, state)) do
    if holder[PREDECESSOR] == from then return true end
  end
  return false
end

local function adopt(key, from, from_ttl_ms, token, to, ttl_ms, owner, is_detached)
  refuse_on_replica(key)
  local state = load_state(key, call('GET', key))
  local changed = expire_and_promote(key, state)
  local holder = find_holder(key, state, to)
  local is_new = not holder
  local loss
  if is_new then
    holder = find_holder(key, state, from)
    local _, refused_until = tombstone_of(key, to)
    local is_refused = refused_until and refused_until > now
    local has_token = holder and holder[TOKEN] <= token and token < holder[TOKEN] + holder[TOKENS]
    if is_refused or not has_token then
      local reason = not holder and steal_reason_of(key, from)
      loss = reason and 's ' .. reason or not holder and has_heir(key, state, from) and 'a' or 'l'
    elseif holder[STEAL_REASON] then
      loss = 's ' .. holder[STEAL_REASON]
    else
      drop_holder(key, state, holder)
      add_tombstone(key, state, from, from_ttl_ms, ABSENT, true)
      if not is_detached then token = next_token(state) end
      state[LAST_TOKEN] = max(state[LAST_TOKEN], token)
      local weight, granted_at = holder[WEIGHT], holder[GRANTED]
      local first_token = holder[FIRST_TOKEN] or holder[TOKEN]
      holder = { to, owner, weight, ttl_ms, 1, token, granted_at, now + ttl_ms, false, from, first_token }
      state[HELD] = state[HELD] + weight
      put_holder(key, state, holder, true, write_always)
      changed = true
    end
  end
  if changed then save_state(key, state, write_always) end
  return loss
    or string.format(
      'g %d %.0f %.0f %.3f %.3f',
      is_new and 0 or 1,
      holder[TOKEN],
      holder[TOKENS],
      holder[TTL],
      holder[EXPIRES] - now
    )
end
