-- Fast path: passes a lock that the claim holds as a whole to the first waiter. That waiter must
-- live, and also want all of the lock.
--
-- Input   key, id  the lock and the claim
--         state  the state of the lock, which a claim holds as a whole
--         withdrawn_ms  how long the withdrawal has to be remembered
-- Output  release_to_next(key, id, state)  the answer; nil where the general path has to decide

-- @include parts/note-grants.lua
-- @include parts/next-token.lua

local function release_to_next(key, id, state)
  if state[SOLE][ID] ~= id or state[WAITERS] == 0 then return nil end
  local tomb_ends = now + withdrawn_ms
  if state[SINCE_TRIM] >= TRIM_AFTER or state[TOMBS_UNTIL] < tomb_ends then return nil end
  local first, second
  for index, waiting_id in ipairs(try('ZRANGE', key .. ':q', 0, 1)) do
    local packed = try('HGET', key .. ':w', waiting_id)
    local waiter = type(packed) == 'string' and cmsgpack.unpack(packed)
    if index == 1 then first = waiter else second = waiter end
  end
  local lives_ms = first and first[HEARTBEAT] * HEARTBEATS_TO_LIVE
  if not first or first[SEEN] + lives_ms <= now or first[WEIGHT] ~= state[CAPACITY] then return nil end
  local ttl = math.min(first[TTL], lives_ms)
  local token = next_token(state)
  local holder = { first[ID], first[OWNER], first[WEIGHT], ttl, first[TOKENS], token, now, now + ttl, false }
  state[SOLE] = holder
  state[LAST_TOKEN] = token + first[TOKENS] - 1
  state[NEXT_EXPIRY] = now + ttl
  state[WAITERS] = state[WAITERS] - 1
  state[SINCE_TRIM] = state[SINCE_TRIM] + 1
  -- Until then the next call need not look whether the waiter that is first now lives.
  state[STUCK_UNTIL] = second and second[SEEN] + second[HEARTBEAT] * HEARTBEATS_TO_LIVE or 0
  state[NEEDED_UNTIL] = max(state[NEEDED_UNTIL], now + ttl)
  local needed_ms = max(KEEP_MS + state[NEEDED_UNTIL] - now, state[TOMBS_UNTIL] - now)
  state[KEPT_UNTIL] = now + needed_ms
  -- First the write that a server out of memory may refuse: the general path knows what to do.
  if not try('SET', key, cmsgpack.pack(state), 'PX', ceil(needed_ms)).ok then return nil end
  try('ZADD', key .. ':t', floor(tomb_ends) * 4 + RELEASED, id)
  try('ZREM', key .. ':q', first[ID])
  try('HDEL', key .. ':w', first[ID])
  note_grant(first[CHANNEL], holder)
  return 'released'
end
