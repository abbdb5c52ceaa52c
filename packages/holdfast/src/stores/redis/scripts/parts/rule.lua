-- The grant rule: a claim is granted when the weights of those that hold, plus its own, fit the
-- capacity and no claim waits before it. It decides as the rule of the memory store does, step by
-- step, and is tested against it.

local function add_tombstone(key, state, id, ttl_ms, outcome, firm)
  local words = { score_of(now + ttl_ms, outcome, firm), id }
  state[SINCE_TRIM], state[TOMBS_UNTIL] = put_tombstones(key, words, ttl_ms, state[SINCE_TRIM], state[TOMBS_UNTIL])
end

-- The outcome of the withdrawal of a claim, until when it is refused, and whether firmly; nil for a
-- claim that was not withdrawn.
local function tombstone_of(key, id)
  local score = call('ZSCORE', key .. ':t', id)
  if not score then return nil end
  score = tonumber(score)
  local firm = score >= FIRM
  if firm then score = score - FIRM end
  return score % 4, floor(score / 4), firm
end

local function find_holder(key, state, id)
  local sole = state[SOLE]
  if sole then return sole[ID] == id and sole or nil end
  if state[SHARING] == 0 then return nil end
  local packed = call('HGET', key .. ':h', id)
  return packed and cmsgpack.unpack(packed) or nil
end

-- Removes what a hash held before the head began to count its fields: a helper key may outlive the
-- head. Reads first, since a write would let a new claim onto a server that is out of memory.
local function clear_hash(hash)
  if #call('HVALS', hash) > 0 then call('PEXPIRE', hash, -1) end
end

-- Writes down a holder that is new or has changed.
local function put_holder(key, state, holder, is_new, write)
  need_until(state, holder[EXPIRES])
  if state[NEXT_EXPIRY] == 0 or holder[EXPIRES] < state[NEXT_EXPIRY] then
    state[NEXT_EXPIRY] = holder[EXPIRES]
  end
  if holder[WEIGHT] == state[CAPACITY] then
    state[SOLE] = holder
    return
  end
  if is_new and state[SHARING] == 0 then clear_hash(key .. ':h') end
  write(key, 'HSET', key .. ':h', holder[ID], cmsgpack.pack(holder))
  if is_new then state[SHARING] = state[SHARING] + 1 end
  keep_helpers(key, state, state[SHARING] == 1)
end

local function drop_holder(key, state, holder)
  state[HELD] = state[HELD] - holder[WEIGHT]
  state[STUCK_UNTIL] = 0
  if state[SOLE] then
    state[SOLE] = false
  else
    call('HDEL', key .. ':h', holder[ID])
    state[SHARING] = state[SHARING] - 1
  end
  if state[HELD] == 0 then state[NEXT_EXPIRY] = 0 end
end

local function hold(key, state, claim, ttl_ms, write)
  local token = max(state[LAST_TOKEN] + 1, token_floor)
  local holder =
    { claim[ID], claim[OWNER], claim[WEIGHT], ttl_ms, claim[TOKENS], token, now, now + ttl_ms, false }
  state[LAST_TOKEN] = token + claim[TOKENS] - 1
  state[HELD] = state[HELD] + claim[WEIGHT]
  put_holder(key, state, holder, true, write)
  return holder
end

local function all_holders(key, state)
  if state[SOLE] then return { state[SOLE] } end
  local holders = {}
  if state[HELD] ~= 0 or state[SHARING] ~= 0 then
    for index, packed in ipairs(call('HVALS', key .. ':h')) do
      holders[index] = cmsgpack.unpack(packed)
    end
  end
  return holders
end

-- Whether the head's counts contradict each other. The holders' key may be evicted alone, and older
-- versions counted holders off that they had never counted.
local function is_miscounted(state)
  local held, sharing, sole = state[HELD], state[SHARING], state[SOLE]
  if sole then return held ~= sole[WEIGHT] or sharing ~= 0 end
  return (held ~= 0 or sharing ~= 0) and (sharing < 1 or held < sharing or state[NEXT_EXPIRY] == 0)
end

-- Ends the leases that are over, and counts the others again: a wrong count heals within one TTL.
-- Renewals leave NEXT_EXPIRY too early, which costs one more look.
local function expire(key, state)
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

local function drop_waiter(key, state, id)
  call('ZREM', key .. ':q', id)
  call('HDEL', key .. ':w', id)
  state[WAITERS] = state[WAITERS] - 1
  state[STUCK_UNTIL] = 0
end

-- Makes holders of the waiters that fit, in order. The first one that lives and does not fit stops
-- the queue. Returns whether anything changed. At the end of a verb it need not be known whether
-- the next waiter lives, if it cannot fit: the next verb begins with that. The grant is short until
-- the first renewal: a waiter that died a moment ago must not cost a TTL.
local function promote(key, state, asking, at_end)
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
      if state[HELD] + waiter[WEIGHT] > state[CAPACITY] then
        -- Heartbeats only lengthen its life, so that no verb needs to check before.
        state[STUCK_UNTIL] = waiter[SEEN] + lives_ms
        return true
      end
      local holder = hold(key, state, waiter, math.min(waiter[TTL], lives_ms), write_always)
      -- The claim whose verb this is learns it from the answer.
      if id ~= asking then note_grant(waiter[CHANNEL], holder) end
    end
    drop_waiter(key, state, id)
    changed = true
    if at_end and state[HELD] == state[CAPACITY] then return true end
  end
  return changed
end

-- Ends what has expired and lets the queue move up. Every verb begins with it. Returns whether the
-- head has changed.
local function settle(key, state, asking)
  local expired = state[NEXT_EXPIRY] ~= 0 and now >= state[NEXT_EXPIRY] or is_miscounted(state)
  if expired then expire(key, state) end
  local changed = expired or ring_emptied
  if state[WAITERS] > 0 and now >= state[STUCK_UNTIL] then return promote(key, state, asking) or changed end
  return changed
end
