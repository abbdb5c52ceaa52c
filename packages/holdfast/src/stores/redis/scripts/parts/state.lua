-- The state of one lock, and where it is kept.
--
--   <key>    string  the head: everything about a lock but what the next four hold, packed as the array below
--   <key>:h  hash    holders that share the lock, claim id -> packed holder; who holds all of it stands in the head
--   <key>:q  zset    the queue, claim id by its number in the line
--   <key>:w  hash    waiters, claim id -> packed waiter
--   <key>:t  zset    claims that were withdrawn, claim id by the end of its refusal and what the withdrawal answered
--
-- Times are milliseconds of the server's clock, with fractions. Whether something has ended is decided by the times in
-- the state; the TTLs of the keys only clear away what nobody asks for any more, and are never shorter.

-- A head.
local KIND, CAPACITY, LAST_TOKEN, HELD, NEXT_EXPIRY, WAITERS = 1, 2, 3, 4, 5, 6
-- The last number given in the line; how many share; until when helper keys live; withdrawals since tombstones were
-- trimmed; until when the tombstones live; the last end of a lease or waiter; who holds all of it, or false.
local SEQUENCE, SHARING, HELPERS_UNTIL, BURIED, TOMBS_UNTIL, NEEDED_UNTIL, SOLE = 7, 8, 9, 10, 11, 12, 13

-- A holder, and as far as it goes a waiter. BECAUSE is false, or the reason of a steal, "" where none was given.
local ID, OWNER, WEIGHT, TTL, TOKENS, TOKEN, GRANTED, EXPIRES, BECAUSE = 1, 2, 3, 4, 5, 6, 7, 8, 9
-- The rest of a waiter.
local HEARTBEAT, SINCE, SEEN, CHANNEL = 6, 7, 8, 9

local HEARTBEATS_TO_LIVE = 3
-- The keys of a lock outlive what is in them by this, so that the last token is remembered: it only has to bridge how
-- far blocks of tokens may run ahead of the clock, since a clock that is set back keeps the key for longer, too.
local KEEP_MS = 60000

local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local token_floor = time[1] * 1000000 + time[2]

-- Waiters that became holders in this call, by channel: who is to be told at its end.
local wakes = {}

local function load_state(key)
  local packed = redis.call('GET', key)
  if packed then
    local readable, state = pcall(cmsgpack.unpack, packed)
    if readable and type(state) == 'table' and #state == SOLE then return state end
    error('FOREIGN the key ' .. key .. ' holds something that is not the state of a lock', 0)
  end
  return { 'mutex', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false }
end

local function is_idle(state)
  return state[HELD] == 0 and state[WAITERS] == 0
end

-- A server that is out of memory refuses SET and the like, until a script has made one write that it allows. Whatever
-- keeps or ends a lease must get through: a full server is no reason to lose the locks that are held. The write that
-- opens the door changes nothing, since no claim has an empty id.
local function write_always(key, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'OOM', 1, true) then error(reply.err, 0) end
  redis.call('HDEL', key .. ':w', '')
  return redis.call(...)
end

local function save_state(key, state, write)
  local needed_ms = KEEP_MS
  if not is_idle(state) and state[NEEDED_UNTIL] > now then
    needed_ms = needed_ms + state[NEEDED_UNTIL] - now
  end
  write(key, 'SET', key, cmsgpack.pack(state), 'PX', string.format('%.0f', needed_ms))
end

-- For what may as well be refused: new claims.
local function write_if_room(_, ...)
  return redis.call(...)
end

-- Notes how long the state will be needed, which the TTLs of its keys follow.
local function need_until(state, until_ms)
  if until_ms > state[NEEDED_UNTIL] then state[NEEDED_UNTIL] = until_ms end
end

-- Gives the helper keys a TTL. Not at each step: they get more than they need, and are looked at again when it is used up.
local function keep_helpers(key, state, anew)
  if not anew and state[HELPERS_UNTIL] >= state[NEEDED_UNTIL] then return end
  local ttl_ms = 2 * math.max(0, state[NEEDED_UNTIL] - now) + KEEP_MS
  state[HELPERS_UNTIL] = now + ttl_ms
  for _, suffix in ipairs({ ':h', ':q', ':w' }) do
    redis.call('PEXPIRE', key .. suffix, string.format('%.0f', ttl_ms))
  end
end
