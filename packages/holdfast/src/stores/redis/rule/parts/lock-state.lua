-- The state of one lock, and where it is kept.
--
--   <key>    string  the head: everything about a lock except what the next four hold
--   <key>:h  hash    holders that share the lock, claim id -> packed holder. A holder of all of it
--                    is in the head
--   <key>:q  zset    the queue, claim id by its queue number
--   <key>:w  hash    waiters, claim id -> packed waiter
--   <key>:t  zset    tombstones, claim id by the end of its refusal and the outcome
--
-- Times are milliseconds of the server's clock, with fractions. Whether something has ended is
-- decided by the times in the state. The TTLs of the keys only remove what is not needed any more,
-- and are never shorter.
--
-- A head has one of three forms. A lock without a queue needs only the first two, which are cheap
-- to read and write:
--   idle   the lock has no holder and no waiter
--   sole   one claim holds all of it since it found it idle, and no claim waits; it contains the
--          claim's terms as they arrived
--   other  the array of base.lua, packed
-- Behind the first two is the ring of the claims that were released last. The general path makes
-- tombstones of them.
--
-- Input   key, head  the lock, and what GET found at its key
-- Output  load_state(key, head)  the state, as base.lua numbers its fields
--         save_state(key, state, write)  write_if_room  is_idle  need_until  keep_helpers
--         ring_emptied  whether load_state made tombstones of the ring

local function foreign(key)
  error('FOREIGN the key ' .. key .. ' holds something that is not the state of a lock', 0)
end

-- A newer version wrote this head. What it says is unknown here, so nothing of the lock may be
-- touched.
local function later(key, head)
  local _, format = unpack_form(LATER_FORM, head)
  error('FORMAT the key ' .. key .. ' has format ' .. format .. ', and this version of Holdfast knows format 1.', 0)
end

local function idle_state(last_token, since_trim, tombs_until, kept_until)
  return { 'mutex', 0, last_token, 0, 0, 0, 0, 0, 0, since_trim, tombs_until, 0, false, kept_until, 0 }
end

-- Whether tombstones were made of the ring behind the head: then the head has changed.
local ring_emptied = false

-- Makes tombstones of the ring behind a head.
local function empty_ring(key, state, ring)
  ring_emptied = ring ~= ''
  if not ring_emptied then return end
  local words, score = {}, score_of(now + KEEP_MS, RELEASED, false)
  for id in string.gmatch(ring, '(%Z+)%z') do
    table.insert(words, score)
    table.insert(words, id)
  end
  state[SINCE_TRIM], state[TOMBS_UNTIL] = put_tombstones(key, words, KEEP_MS, state[SINCE_TRIM], state[TOMBS_UNTIL])
end

local function read_sole(head)
  local _, expires, ring_length, _, since_trim, tombs_until, kept_until, last_token, id, ring_at =
    unpack_form(SOLE_FORM, head)
  local terms = cjson.decode(sub(head, ring_at + ring_length))
  local kind, capacity, _, ttl_ms, _, tokens, _, owner = unpack(terms)
  local token = last_token - tokens + 1
  local holder = { id, owner, capacity, ttl_ms, tokens, token, expires - ttl_ms, expires, false }
  local state = {
    kind, capacity, last_token, capacity, expires, 0, 0, 0, 0, since_trim, tombs_until, expires, holder,
    kept_until, 0,
  }
  return state, sub(head, ring_at, ring_at + ring_length - 1)
end

-- Returns the state, and the ring behind it.
local function read_head(head)
  local form = byte(head)
  if form == SOLE_ONE then return read_sole(head) end
  if form == IDLE then
    local _, since_trim, tombs_until, kept_until, last_token = unpack_form(IDLE_FORM, head)
    return idle_state(last_token, since_trim, tombs_until, kept_until), sub(head, IDLE_LENGTH + 1)
  end
  return cmsgpack.unpack(head), ''
end

-- head: what GET found at the key
local function load_state(key, head)
  ring_emptied = false
  if not head then return idle_state(0, 0, 0, 0) end
  if byte(head) == LATER and #head >= LATER_LENGTH then later(key, head) end
  local readable, state, ring = pcall(read_head, head)
  if not readable or type(state) ~= 'table' or #state ~= LENGTH then foreign(key) end
  empty_ring(key, state, ring)
  return state
end

local function is_idle(state)
  return state[HELD] == 0 and state[WAITERS] == 0
end

local function write_head(state)
  if not is_idle(state) then return cmsgpack.pack(state) end
  return pack_form(
    IDLE_FORM, IDLE, state[SINCE_TRIM], state[TOMBS_UNTIL], state[KEPT_UNTIL], state[LAST_TOKEN]
  )
end

-- For new claims, which a server without memory may refuse.
local function write_if_room(_, ...)
  return call(...)
end

local function save_state(key, state, write)
  -- Fails loudly where a defect has broken the counts: written down, they would let a claim in.
  if state[HELD] < 0 or state[WAITERS] < 0 or state[SHARING] < 0 then
    error('BROKEN the state of ' .. key .. ' would have a count below zero', 0)
  end
  local needed_ms = KEEP_MS
  if not is_idle(state) and state[NEEDED_UNTIL] > now then
    needed_ms = needed_ms + state[NEEDED_UNTIL] - now
  end
  -- The head has to say whether there are tombstones.
  needed_ms = max(needed_ms, state[TOMBS_UNTIL] - now)
  -- A token may be ahead of this server's clock. It is remembered until the clock has passed it.
  needed_ms = max(needed_ms, KEEP_MS + state[LAST_TOKEN] / 1000 - now)
  state[KEPT_UNTIL] = now + needed_ms
  write(key, 'SET', key, write_head(state), 'PX', ceil(needed_ms))
end

-- Notes how long the state will be needed, which the TTLs of its keys follow.
local function need_until(state, until_ms)
  if until_ms > state[NEEDED_UNTIL] then state[NEEDED_UNTIL] = until_ms end
end

-- Gives the helper keys that are in use a TTL. Not in each call: they get more than they need, and
-- another one when that is used up.
--   is_first: whether a helper key was just made
local function keep_helpers(key, state, is_first)
  if not is_first and state[HELPERS_UNTIL] >= state[NEEDED_UNTIL] then return end
  local ttl_ms = 2 * max(0, state[NEEDED_UNTIL] - now) + KEEP_MS
  state[HELPERS_UNTIL] = now + ttl_ms
  if state[SHARING] > 0 then call('PEXPIRE', key .. ':h', ceil(ttl_ms)) end
  if state[WAITERS] == 0 then return end
  call('PEXPIRE', key .. ':q', ceil(ttl_ms))
  call('PEXPIRE', key .. ':w', ceil(ttl_ms))
end
