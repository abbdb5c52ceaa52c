-- Fast path: puts a claim for all of a lock at the end of its queue, behind others of its kind.
--
-- Input   key, id  the lock and the claim
--         state  the state of the lock, which a claim holds as a whole
--         terms, ttl_ms, tokens  of the attempt
--         ARGV 1  ends with the channel on which the claim's client listens
-- Output  queue_up(key, id, state)  the answer; nil where the general path has to decide
local decoded
local function queue_up(key, id, state)
  if state[SOLE][ID] == id or state[WAITERS] == 0 or now >= state[STUCK_UNTIL] then return nil end
  decoded = decoded or cjson.decode(terms)
  local kind, capacity, weight, _, heartbeat_ms, _, enqueue, owner = unpack(decoded)
  if kind ~= state[KIND] or capacity ~= state[CAPACITY] or enqueue ~= 1 then return nil end
  local needed_until = max(state[NEEDED_UNTIL], now + heartbeat_ms * HEARTBEATS_TO_LIVE)
  if needed_until > state[HELPERS_UNTIL] then return nil end
  -- Withdrawn, or waits already.
  if try('ZSCORE', key .. ':t', id) then return nil end
  local channel = string.match(ARGV[1], '%u+ (.*)$')
  local waiter = { id, owner, weight, ttl_ms, tokens, heartbeat_ms, now, now, channel }
  if try('HSETNX', key .. ':w', id, cmsgpack.pack(waiter)) ~= 1 then return nil end
  local number = state[SEQUENCE] + 1
  try('ZADD', key .. ':q', string.format('%.0f', number), id)
  state[SEQUENCE] = number
  state[WAITERS] = state[WAITERS] + 1
  state[NEEDED_UNTIL] = needed_until
  local needed_ms = max(KEEP_MS + needed_until - now, state[TOMBS_UNTIL] - now)
  state[KEPT_UNTIL] = now + needed_ms
  try('SET', key, cmsgpack.pack(state), 'PX', ceil(needed_ms))
  return string.format('w %.0f %.3f', number, state[NEXT_EXPIRY] - now)
end
