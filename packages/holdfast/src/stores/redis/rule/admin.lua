-- Downgrades, steals and descriptions, on one lock or on several.
--
-- KEYS    the keys of the locks. In a Cluster their helper keys follow, which the script finds by
--         itself
-- ARGV 1  the command that publishes, SPUBLISH in a Cluster
-- ARGV 2  what to do:
--   "downgrade"  ARGV 3: claim id
--   "steal"      ARGV 3: "1" to free the lock at once  ARGV 4: the reason, or ""
--                ARGV 5: the last token when the operator's client looked; later grants are kept
--                ARGV 6: the only claim to steal, if any
--   "adopt"      ARGV 3: the claim that holds  4: its TTL  5: the token  6: the new claim
--                7: its TTL  8: its owner  9: "1" for a lease that is detached and keeps its token
--   "describe"   ARGV 3: how many locks  4: "up-to" for the waiters up to the last one of the
--                claims in ARGV 5 and later, or nothing for all of them
-- Returns
--   "downgrade"  1 or 0
--   "steal"      {holders, "<free in>", waiters}
--   "describe"   for each key 0 where the lock is idle, else {kind, capacity, last token, holders,
--                waiters}
-- A holder is {id, owner, weight, token, held for, remaining, 0|1 stolen, reason, TTL}. The token
-- is "" if the grant has several. A waiter is {id, owner, weight, waited for}.
--
-- Publishes as apply-batch.lua does.

-- @include parts/base.lua
-- @include parts/shorthands.lua
-- @include parts/note-grants.lua
-- @include parts/writes.lua
-- @include parts/refused-claims.lua
-- @include parts/lock-state.lua
-- @include parts/grant-rule.lua
-- @include parts/adopt.lua

local function number(value)
  return string.format('%.3f', value)
end

local function downgrade(key, id)
  local state = load_state(key, call('GET', key))
  local changed = expire_and_promote(key, state)
  local holder = find_holder(key, state, id)
  local done = holder and state[KIND] == 'readWriteLock'
  if done then
    drop_holder(key, state, holder)
    holder[WEIGHT] = 1
    state[HELD] = state[HELD] + 1
    put_holder(key, state, holder, true, write_always)
    promote_waiters(key, state, nil, true)
  end
  if changed or done then save_state(key, state, write_always) end
  return done and 1 or 0
end

-- Returns whether the claim waited.
local function steal_waiter(key, state, id, reason)
  local packed = state[WAITERS] > 0 and call('HGET', key .. ':w', id)
  if not packed then return false end
  drop_waiter(key, state, id)
  note_steal(key, state, id, cmsgpack.unpack(packed)[TTL], reason)
  -- A lighter claim behind it may fit.
  promote_waiters(key, state, nil, true)
  save_state(key, state, write_always)
  return true
end

-- It may arrive a second time, after a connection broke, when another claim has been granted the
-- lock since the first. A claim that adopted a lease meanwhile holds what the operator saw.
local function steal(key, at_once, reason, last_token, claim)
  local state = load_state(key, call('GET', key))
  local changed = expire_and_promote(key, state)
  if claim ~= '' and steal_waiter(key, state, claim, reason) then return { 0, '0', 1 } end
  local stolen = {}
  for _, holder in ipairs(all_holders(key, state)) do
    local is_seen = (holder[FIRST_TOKEN] or holder[TOKEN]) <= last_token
    if claim == '' and is_seen or holder[ID] == claim then table.insert(stolen, holder) end
  end
  local free_in_ms = 0
  for _, holder in ipairs(stolen) do
    -- A second steal without a reason leaves that of the first.
    if reason ~= '' or not holder[STEAL_REASON] then holder[STEAL_REASON] = reason end
    free_in_ms = max(free_in_ms, holder[EXPIRES] - now)
    if at_once then
      drop_holder(key, state, holder)
      note_steal(key, state, holder[ID], holder[TTL], holder[STEAL_REASON])
    else
      put_holder(key, state, holder, false, write_always)
    end
  end
  if at_once then promote_waiters(key, state, nil, true) end
  if changed or #stolen > 0 then save_state(key, state, write_always) end
  return { #stolen, number(at_once and 0 or free_in_ms), 0 }
end

local function describe_holder(holder)
  return {
    holder[ID],
    holder[OWNER],
    number(holder[WEIGHT]),
    holder[TOKENS] == 1 and string.format('%.0f', holder[TOKEN]) or '',
    number(now - holder[GRANTED]),
    number(holder[EXPIRES] - now),
    holder[STEAL_REASON] and 1 or 0,
    holder[STEAL_REASON] or '',
    number(holder[TTL]),
  }
end

-- Returns the rank of the last waiter of interest. -1 is the rank of the last one of all.
local function last_rank(key)
  if ARGV[4] ~= 'up-to' then return -1 end
  local last
  for index = 5, #ARGV do
    local score = tonumber(call('ZSCORE', key .. ':q', ARGV[index]) or nil)
    if score and (not last or score > last) then last = score end
  end
  return last and call('ZCOUNT', key .. ':q', '-inf', string.format('%.17g', last)) - 1
end

local function describe_waiters(key, state)
  local waiters = {}
  local last = state[WAITERS] > 0 and last_rank(key)
  if not last then return waiters end
  for _, id in ipairs(call('ZRANGE', key .. ':q', 0, last)) do
    local packed = call('HGET', key .. ':w', id)
    if packed then
      local waiter = cmsgpack.unpack(packed)
      table.insert(waiters, { id, waiter[OWNER], number(waiter[WEIGHT]), number(now - waiter[SINCE]) })
    end
  end
  return waiters
end

local function describe(key)
  local head = redis.pcall('GET', key)
  -- A key of another type. Among many locks the server's own error would not say which.
  if type(head) == 'table' then foreign(key) end
  local state = load_state(key, head)
  if expire_and_promote(key, state) then save_state(key, state, write_always) end
  if is_idle(state) then return 0 end
  local holders = all_holders(key, state)
  for index, holder in ipairs(holders) do holders[index] = describe_holder(holder) end
  local waiters = describe_waiters(key, state)
  return { state[KIND], number(state[CAPACITY]), string.format('%.0f', state[LAST_TOKEN]), holders, waiters }
end

local result
if ARGV[2] == 'downgrade' then
  result = downgrade(KEYS[1], ARGV[3])
elseif ARGV[2] == 'steal' then
  result = steal(KEYS[1], ARGV[3] == '1', ARGV[4], tonumber(ARGV[5]), ARGV[6] or '')
elseif ARGV[2] == 'adopt' then
  local from_ttl_ms, token, ttl_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
  result = adopt(KEYS[1], ARGV[3], from_ttl_ms, token, ARGV[6], ttl_ms, ARGV[8], ARGV[9] == '1')
else
  result = {}
  for index = 1, tonumber(ARGV[3]) do result[index] = describe(KEYS[index]) end
end
-- @include parts/publish-grants.lua
return result
