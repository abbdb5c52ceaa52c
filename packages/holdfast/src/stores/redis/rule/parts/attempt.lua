-- Answers an attempt: a grant, a place in the queue, or a refusal.
--
-- Input   key, head  the lock, and what GET found at its key
--         id  the claim
--         terms  { kind, capacity, weight, ttl, heartbeat, tokens, enqueue 0|1, owner }
--         channel  where the client listens
-- Output  attempt(key, head, id, terms, channel)  the line of the answer

local function granted(holder, existing)
  return string.format(
    'g %d %.0f %.0f %.3f %.3f',
    existing and 1 or 0,
    holder[TOKEN],
    holder[TOKENS],
    holder[TTL],
    holder[EXPIRES] - now
  )
end

local function not_yet(letter, state)
  if state[NEXT_EXPIRY] == 0 then return letter end
  return string.format('%s %.3f', letter, max(0, state[NEXT_EXPIRY] - now))
end

-- An idle lock takes the kind and capacity of its next claim. Returns the answer where those of a
-- lock in use differ, and whether a lock in use is shown as another kind from now on.
local function adopt_kind(state, kind, capacity)
  if state[KIND] == kind and state[CAPACITY] == capacity then return nil end
  if is_idle(state) then
    state[KIND] = kind
    state[CAPACITY] = capacity
    return nil
  end
  -- A mutex is the writer of a readers-writer lock.
  if state[CAPACITY] == capacity and (state[KIND] == 'semaphore') == (kind == 'semaphore') then
    local other = kind == 'readWriteLock' and state[KIND] ~= kind
    if other then state[KIND] = kind end
    return nil, other
  end
  return string.format('m %s %.0f', state[KIND], state[CAPACITY])
end

local function attempt(key, head, id, terms, channel)
  local kind, capacity, weight, ttl_ms, heartbeat_ms, tokens, enqueue, owner = unpack(terms)
  local state = load_state(key, head)
  local changed = expire_and_promote(key, state, id)
  local function answer(line)
    if changed then save_state(key, state, write_always) end
    return line
  end
  -- An attempt that arrives after its own withdrawal, or after its lease ended, must not become a
  -- ghost.
  local _, refused_until = tombstone_of(key, id)
  if refused_until and refused_until > now then
    local reason = steal_reason_of(key, id)
    return answer(reason and 'x ' .. reason or 'x')
  end
  local holder = find_holder(key, state, id)
  if holder then
    refuse_on_replica(key)
    return answer(granted(holder, true))
  end
  local waits, head_changed = hear_again(key, state, id, owner, tokens)
  if waits then
    changed = changed or head_changed
    return answer(not_yet('w -', state))
  end
  local mismatch, other_kind = adopt_kind(state, kind, capacity)
  changed = changed or other_kind
  if mismatch then return answer(mismatch) end
  if state[WAITERS] == 0 and fits(state, weight) then
    if state[HELD] == 0 then state[SEQUENCE] = 0 end
    holder = grant(key, state, { id, owner, weight, ttl_ms, tokens }, ttl_ms, write_if_room)
    save_state(key, state, write_if_room)
    return granted(holder, false)
  end
  if enqueue == 0 then return answer(not_yet('b', state)) end
  join_queue(key, state, { id, owner, weight, ttl_ms, tokens, heartbeat_ms, now, now, channel })
  save_state(key, state, write_always)
  return not_yet(string.format('w %.0f', state[SEQUENCE]), state)
end
