-- Extends a grant, or keeps its end and changes only its owner.
--
-- Input   key, head  the lock, and what GET found at its key
--         id  the claim
--         terms  { ttl, or 0 to keep the end of the lease, owner, and the token where a majority
--         of servers sealed one }
-- Output  renew(key, head, id, terms)  the line of the answer
local function renew(key, head, id, terms)
  local ttl_ms, owner, token = unpack(terms)
  local state = load_state(key, head)
  local changed = expire_and_promote(key, state)
  local holder = find_holder(key, state, id)
  if holder and not holder[STEAL_REASON] then
    holder[OWNER] = owner
    if ttl_ms > 0 then
      holder[TTL] = ttl_ms
      holder[EXPIRES] = now + ttl_ms
    end
    if token then raise_token(state, holder, token) end
    put_holder(key, state, holder, false, write_always)
    save_state(key, state, write_always)
    return 'r'
  end
  refuse_on_replica(key)
  if changed then save_state(key, state, write_always) end
  local reason = holder and holder[STEAL_REASON] or steal_reason_of(key, id)
  return reason and 's ' .. reason or 'l'
end
