-- Puts a claim that wants all of a lock at the end of its queue, behind others that do. Sets the
-- line; not where anything is out of the ordinary. Takes: key id text shape state sole

if sole[ID] ~= id and state[WAITERS] > 0 and now < state[STUCK_UNTIL] then
  shape = shape or cjson.decode(text)
  local kind, capacity, weight, asked_ms, heartbeat_ms, wanted, enqueue, owner = unpack(shape)
  local needed_until = max(state[NEEDED_UNTIL], now + heartbeat_ms * HEARTBEATS_TO_LIVE)
  local alike = kind == state[KIND] and capacity == state[CAPACITY]
  -- A claim that was withdrawn, or waits already, is for the long way.
  if alike and enqueue == 1 and needed_until <= state[HELPERS_UNTIL] and not try('ZSCORE', key .. ':t', id) then
    channel = channel or string.match(ARGV[1], '^%S+ (.*)$')
    local waiter = { id, owner, weight, asked_ms, wanted, heartbeat_ms, now, now, channel }
    if try('HSETNX', key .. ':w', id, cmsgpack.pack(waiter)) == 1 then
      local number = state[SEQUENCE] + 1
      try('ZADD', key .. ':q', format('%.0f', number), id)
      state[SEQUENCE] = number
      state[WAITERS] = state[WAITERS] + 1
      state[NEEDED_UNTIL] = needed_until
      local needed_ms = max(KEEP_MS + needed_until - now, state[TOMBS_UNTIL] - now)
      state[KEPT_UNTIL] = now + needed_ms
      try('SET', key, cmsgpack.pack(state), 'PX', ceil(needed_ms))
      line = format('w %.0f %.3f', number, state[NEXT_EXPIRY] - now)
    end
  end
end
