-- The holders of a lock: in its head where one holds all of it, else in a hash of their own.
--
-- Input   key, state  the lock and its state
--         holder  the fields of a holder as base.lua numbers them
-- Output  find_holder, put_holder, drop_holder, all_holders; clear_hash, also for waiters

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
