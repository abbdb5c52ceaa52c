-- Attempts, renewals and withdrawals in full. Each works on one lock, whose head was read, and
-- returns one line.

-- An error as one line. Some versions of the server raise tables, others strings.
local function error_line(raised)
  local text = type(raised) == 'table' and raised.err or raised
  return 'e ' .. string.gsub(tostring(text), '[\r\n]', ' ')
end

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
  -- Also when a holder needs the state for longer than the waiter does: one that holds all of a
  -- lock has no helper key of its own and keeps none, so that the queue would end under the
  -- waiters behind its renewals.
  local helpers_until = state[HELPERS_UNTIL]
  keep_helpers(key, state, is_back)
  return true, is_back or state[HELPERS_UNTIL] ~= helpers_until
end

-- terms: { kind, capacity, weight, ttl, heartbeat, tokens, enqueue 0|1, owner }
local function attempt(key, head, id, terms, channel)
  local kind, capacity, weight, ttl_ms, heartbeat_ms, tokens, enqueue, owner = unpack(terms)
  local state = load_state(key, head)
  local changed = settle(key, state, id)
  local function answer(line)
    if changed then save_state(key, state, write_always) end
    return line
  end
  -- An attempt that arrives after its own withdrawal, or after its lease ended, must not become a
  -- ghost.
  local _, refused_until = tombstone_of(key, id)
  if refused_until and refused_until > now then return answer('x') end
  local holder = find_holder(key, state, id)
  if holder then return answer(granted(holder, true)) end
  local waits, head_changed = hear_again(key, state, id, owner, tokens)
  if waits then
    changed = changed or head_changed
    return answer(not_yet('w -', state))
  end
  local mismatch, other_kind = adopt_kind(state, kind, capacity)
  changed = changed or other_kind
  if mismatch then return answer(mismatch) end
  if state[WAITERS] == 0 and state[HELD] + weight <= state[CAPACITY] then
    if state[HELD] == 0 then state[SEQUENCE] = 0 end
    holder = hold(key, state, { id, owner, weight, ttl_ms, tokens }, ttl_ms, write_if_room)
    save_state(key, state, write_if_room)
    return granted(holder, false)
  end
  if enqueue == 0 then return answer(not_yet('b', state)) end
  join_queue(key, state, { id, owner, weight, ttl_ms, tokens, heartbeat_ms, now, now, channel })
  save_state(key, state, write_always)
  return not_yet(string.format('w %.0f', state[SEQUENCE]), state)
end

-- terms: { ttl, owner, and the token where a majority of servers sealed one }
local function renew(key, head, id, terms)
  local ttl_ms, owner, token = unpack(terms)
  local state = load_state(key, head)
  local changed = settle(key, state)
  local holder = find_holder(key, state, id)
  if holder and not holder[STEAL_REASON] then
    holder[OWNER] = owner
    holder[TTL] = ttl_ms
    holder[EXPIRES] = now + ttl_ms
    if token then raise_token(state, holder, token) end
    put_holder(key, state, holder, false, write_always)
    save_state(key, state, write_always)
    return 'r'
  end
  if changed then save_state(key, state, write_always) end
  return holder and 's ' .. holder[STEAL_REASON] or 'l'
end

local function outcome_name(outcome)
  if outcome == RELEASED then return 'released' end
  return outcome == LEFT and 'left' or 'absent'
end

-- terms: { ttl, firm 0|1 }
local function withdraw(key, head, id, terms)
  local ttl_ms, firm = unpack(terms)
  local state = load_state(key, head)
  settle(key, state)
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
    promote(key, state, nil, true)
    save_state(key, state, write_always)
    return outcome_name(outcome)
  end
  -- Also where it has a tombstone already, which may be so old that it refuses nothing any more.
  local before, _, was_firm = tombstone_of(key, id)
  outcome = before or ABSENT
  add_tombstone(key, state, id, ttl_ms, outcome, firm == 1 or was_firm)
  save_state(key, state, write_always)
  return outcome_name(outcome)
end

-- Takes a hold back as if it had never been: it leaves no tombstone, and the claim may be attempted
-- again. For votes, which are no leases. The client knows that no attempt of the claim is in
-- flight.
local function retract(key, head, id)
  local state = load_state(key, head)
  local changed = settle(key, state)
  local holder = find_holder(key, state, id)
  if holder then
    drop_holder(key, state, holder)
    promote(key, state)
  end
  if holder or changed then save_state(key, state, write_always) end
  return holder and 'released' or 'absent'
end

local verbs = { a = attempt, r = renew, w = withdraw, t = retract, s = seal }

-- Runs any verb. Returns its line, or that of its error.
--   head: what GET found at the key, which may be an error
--   terms: its terms, as JSON
local function run_verb(verb, key, head, id, terms)
  if type(head) == 'table' then return error_line(head) end
  local own_channel = string.match(ARGV[1], '^%S+ (.*)$')
  local done, line = pcall(verbs[verb], key, head, id, cjson.decode(terms), own_channel)
  return done and line or error_line(line)
end
