-- Gives a lock that this claim holds as a whole to the next one in its queue, which lives and wants
-- all of it, too. Sets the line; not where anything is out of the ordinary. Takes: key id ttl_ms
-- state sole

local next_end = now + ttl_ms
if sole[ID] == id and state[WAITERS] > 0 and state[BURIED] < TRIM_AFTER and state[TOMBS_UNTIL] >= next_end then
  local ids = try('ZRANGE', key .. ':q', 0, 1)
  local first, second
  for place, waiting_id in ipairs(ids) do
    local packed = try('HGET', key .. ':w', waiting_id)
    local waiter = type(packed) == 'string' and cmsgpack.unpack(packed)
    if place == 1 then first = waiter else second = waiter end
  end
  local lives_ms = first and first[HEARTBEAT] * HEARTBEATS_TO_LIVE
  if first and first[SEEN] + lives_ms > now and first[WEIGHT] == state[CAPACITY] then
    local term_ms = math.min(first[TTL], lives_ms)
    local token = max(state[LAST_TOKEN] + 1, token_floor)
    state[SOLE] = {
      first[ID], first[OWNER], first[WEIGHT], term_ms, first[TOKENS], token, now, now + term_ms, false,
    }
    state[LAST_TOKEN] = token + first[TOKENS] - 1
    state[NEXT_EXPIRY] = now + term_ms
    state[WAITERS] = state[WAITERS] - 1
    state[BURIED] = state[BURIED] + 1
    -- Whoever comes next need not look whether the one that is first now lives.
    state[STUCK_UNTIL] = second and second[SEEN] + second[HEARTBEAT] * HEARTBEATS_TO_LIVE or 0
    state[NEEDED_UNTIL] = max(state[NEEDED_UNTIL], now + term_ms)
    local needed_ms = max(KEEP_MS + state[NEEDED_UNTIL] - now, state[TOMBS_UNTIL] - now)
    state[KEPT_UNTIL] = now + needed_ms
    -- First of all what a server that is out of memory may refuse: the long way knows what to do.
    if try('SET', key, cmsgpack.pack(state), 'PX', ceil(needed_ms)).ok then
      try('ZADD', key .. ':t', floor(next_end) * 4 + RELEASED, id)
      try('ZREM', key .. ':q', first[ID])
      try('HDEL', key .. ':w', first[ID])
      local waiter, holder = first, state[SOLE]
      -- @include parts/tell.lua
      line = 'released'
    end
  end
end
