-- Takes a claim out of the queue of a lock that another one holds as a whole. Sets the line; not
-- where anything is out of the ordinary. Takes: key id ttl_ms state sole

local next_end = now + ttl_ms
if
  sole[ID] ~= id and state[WAITERS] > 0 and state[BURIED] < TRIM_AFTER and state[TOMBS_UNTIL] >= next_end
  and now < state[STUCK_UNTIL] and try('HEXISTS', key .. ':w', id) == 1
then
  local ids = try('ZRANGE', key .. ':q', 0, 1)
  if ids[1] == id then
    local packed = ids[2] and try('HGET', key .. ':w', ids[2])
    local second = type(packed) == 'string' and cmsgpack.unpack(packed)
    state[STUCK_UNTIL] = second and second[SEEN] + second[HEARTBEAT] * HEARTBEATS_TO_LIVE or 0
  end
  state[WAITERS] = state[WAITERS] - 1
  state[BURIED] = state[BURIED] + 1
  local needed_ms = max(KEEP_MS + max(0, state[NEEDED_UNTIL] - now), state[TOMBS_UNTIL] - now)
  state[KEPT_UNTIL] = now + needed_ms
  if try('SET', key, cmsgpack.pack(state), 'PX', ceil(needed_ms)).ok then
    try('ZADD', key .. ':t', floor(next_end) * 4 + LEFT, id)
    try('ZREM', key .. ':q', id)
    try('HDEL', key .. ':w', id)
    line = 'left'
  end
end
