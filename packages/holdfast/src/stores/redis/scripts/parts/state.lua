-- The state of one lock, and where it is kept.
--
--   <key>    string  the head: everything about a lock but what the next four hold
--   <key>:h  hash    holders that share the lock, claim id -> packed holder; who holds all of it stands in the head
--   <key>:q  zset    the queue, claim id by its number in the line
--   <key>:w  hash    waiters, claim id -> packed waiter
--   <key>:t  zset    claims that were withdrawn, claim id by the end of its refusal and what the withdrawal answered
--
-- Times are milliseconds of the server's clock, with fractions. Whether something has ended is decided by the times in
-- the state; the TTLs of the keys only clear away what nobody asks for any more, and are never shorter.
--
-- A head has one of three forms. The first two are all that a lock without a queue needs, and cheap to read and write:
--   "I"  idle: nobody holds it or waits
--   "S"  one claim holds all of it, and nobody waits
--   else the array below, packed

local function foreign(key)
  error('FOREIGN the key ' .. key .. ' holds something that is not the state of a lock', 0)
end

local function idle_state(last_token, buried, tombs_until, kept_until)
  return { 'mutex', 0, last_token, 0, 0, 0, 0, 0, 0, buried, tombs_until, 0, false, kept_until, 0 }
end

local function sole_state(head)
  local _, buried, tombs_until, kept_until, ttl_ms, tokens, token, granted, expires, capacity, kind, id, owner =
    unpack_form(SOLE_FORM, head)
  local holder = { id, owner, capacity, ttl_ms, tokens, token, granted, expires, false }
  local last_token = token + tokens - 1
  return {
    kind, capacity, last_token, capacity, expires, 0, 0, 0, 0, buried, tombs_until, expires, holder,
    kept_until, 0,
  }
end

local function read_head(head)
  local form = string.sub(head, 1, 1)
  if form == 'S' then return sole_state(head) end
  if form == 'I' then
    local _, last_token, buried, tombs_until, kept_until = unpack_form(IDLE_FORM, head)
    return idle_state(last_token, buried, tombs_until, kept_until)
  end
  return cmsgpack.unpack(head)
end

-- head: what GET found at the key
local function load_state(key, head)
  if not head then return idle_state(0, 0, 0, 0) end
  local readable, state = pcall(read_head, head)
  if readable and type(state) == 'table' and #state == LENGTH then return state end
  foreign(key)
end

local function is_idle(state)
  return state[HELD] == 0 and state[WAITERS] == 0
end

local function write_head(state)
  if is_idle(state) then
    return pack_form(
      IDLE_FORM, 'I', state[LAST_TOKEN], state[BURIED], state[TOMBS_UNTIL], state[KEPT_UNTIL]
    )
  end
  local holder = state[SOLE]
  -- After a downgrade or a block of tokens for somebody else the last token is not the holder's: then the long form.
  if state[WAITERS] > 0 or not holder or holder[BECAUSE] then return cmsgpack.pack(state) end
  if state[LAST_TOKEN] ~= holder[TOKEN] + holder[TOKENS] - 1 then return cmsgpack.pack(state) end
  return pack_form(
    SOLE_FORM, 'S', state[BURIED], state[TOMBS_UNTIL], state[KEPT_UNTIL], holder[TTL], holder[TOKENS],
    holder[TOKEN], holder[GRANTED], holder[EXPIRES], state[CAPACITY], state[KIND], holder[ID], holder[OWNER]
  )
end

-- For what may as well be refused: new claims.
local function write_if_room(_, ...)
  return call(...)
end

local function save_state(key, state, write)
  local needed_ms = KEEP_MS
  if not is_idle(state) and state[NEEDED_UNTIL] > now then
    needed_ms = needed_ms + state[NEEDED_UNTIL] - now
  end
  state[KEPT_UNTIL] = now + needed_ms
  write(key, 'SET', key, write_head(state), 'PX', ceil(needed_ms))
end

-- Notes how long the state will be needed, which the TTLs of its keys follow.
local function need_until(state, until_ms)
  if until_ms > state[NEEDED_UNTIL] then state[NEEDED_UNTIL] = until_ms end
end

-- Gives the helper keys a TTL. Not at each step: they get more than they need, and are looked at again when it is used up.
local function keep_helpers(key, state, anew)
  if not anew and state[HELPERS_UNTIL] >= state[NEEDED_UNTIL] then return end
  local ttl_ms = 2 * max(0, state[NEEDED_UNTIL] - now) + KEEP_MS
  state[HELPERS_UNTIL] = now + ttl_ms
  for _, suffix in ipairs({ ':h', ':q', ':w' }) do
    call('PEXPIRE', key .. suffix, ceil(ttl_ms))
  end
end
