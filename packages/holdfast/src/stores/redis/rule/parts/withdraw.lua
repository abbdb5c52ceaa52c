-- Takes a claim out of the store, granted or not, and refuses it from then on.
--
-- Input   key, head  the lock, and what GET found at its key
--         id  the claim
--         terms  of withdraw: { ttl, firm 0|1 }
-- Output  withdraw(key, head, id, terms)  retract(key, head, id)  the line of the answer

local function outcome_name(outcome)
  if outcome == RELEASED then return 'released' end
  return outcome == LEFT and 'left' or 'absent'
end

local function withdraw(key, head, id, terms)
  local ttl_ms, firm = unpack(terms)
  local state = load_state(key, head)
  expire_and_promote(key, state)
  local holder = find_holder(key, state, id)
  local outcome
  if holder then
    outcome = RELEASED
    add_tombstone(key, state, id, ttl_ms, outcome, firm == 1)
    drop_holder(key, state, holder)
  elseif state[WAITERS] > 0 and call('HEXISTS', key .. ':w', id) == 1 then
    outcome = LEFT
    add_tombstone(key, state, id, ttl_ms, outcome, firm == 1)
    drop_waiter(key, state, id)
  end
  if outcome then
    -- Also the one that left may have been all that stood before a smaller claim.
    promote_waiters(key, state, nil, true)
    save_state(key, state, write_always)
    return outcome_name(outcome)
  end
  -- Also where it has a tombstone already, which may be so old that it refuses nothing any more.
  local before, _, was_firm = tombstone_of(key, id)
  -- The claim of a steal that has learned of it needs no reason any more.
  outcome = before ~= STOLEN and before or ABSENT
  add_tombstone(key, state, id, ttl_ms, outcome, firm == 1 or was_firm)
  save_state(key, state, write_always)
  return outcome_name(outcome)
end

-- Takes a hold back as if it had never been: it leaves no tombstone, and the claim may be attempted
-- again. For votes, which are no leases. The client knows that no attempt of the claim is in
-- flight.
local function retract(key, head, id)
  local state = load_state(key, head)
  local changed = expire_and_promote(key, state)
  local holder = find_holder(key, state, id)
  if holder then
    drop_holder(key, state, holder)
    promote_waiters(key, state)
  end
  if holder or changed then save_state(key, state, write_always) end
  return holder and 'released' or 'absent'
end
