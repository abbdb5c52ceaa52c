-- What every part needs: the constants, the server's time, and writes that get through. Names in capitals are put in by
-- value when the scripts are built: a constant would cost each function that uses it a search through all of them, at
-- each call of the script.

local KIND, CAPACITY, LAST_TOKEN, HELD, NEXT_EXPIRY, WAITERS = 1, 2, 3, 4, 5, 6
-- The last number given in the line; how many share; until when helper keys live; withdrawals since tombstones were
-- trimmed; until when the tombstones live; the last end of a lease or waiter; who holds all of it, or false.
local SEQUENCE, SHARING, HELPERS_UNTIL, BURIED, TOMBS_UNTIL, NEEDED_UNTIL, SOLE = 7, 8, 9, 10, 11, 12, 13
-- Until when the key of the head lives; until when the first in the queue lives at least, and cannot fit.
local KEPT_UNTIL, STUCK_UNTIL, LENGTH = 14, 15, 15

-- A holder, and as far as it goes a waiter. BECAUSE is false, or the reason of a steal, "" where none was given.
local ID, OWNER, WEIGHT, TTL, TOKENS, TOKEN, GRANTED, EXPIRES, BECAUSE = 1, 2, 3, 4, 5, 6, 7, 8, 9
-- The rest of a waiter.
local HEARTBEAT, SINCE, SEEN, CHANNEL = 6, 7, 8, 9

-- "I", last token, withdrawals since tombstones were trimmed, until when the tombstones live, and the head itself
local IDLE_FORM, IDLE_LENGTH = '>c1dHdd', 27
-- "S", the last three of an idle head, then the holder: TTL, tokens, token, granted, expires, capacity, kind, id, owner
local SOLE_FORM = '>c1Hddddddddsss'

local HEARTBEATS_TO_LIVE = 3
-- The keys of a lock outlive what is in them by this, so that the last token is remembered: it only has to bridge how
-- far blocks of tokens may run ahead of the clock, since a clock that is set back keeps the key for longer, too.
local KEEP_MS = 60000

-- Tombstones, see there.
local ABSENT, LEFT, RELEASED = 0, 1, 2
local FIRM = 4503599627370496
local COMMON_KEPT, FIRM_KEPT, TRIM_AFTER = 128, 8192, 256

local call, pack_form, unpack_form = redis.call, struct.pack, struct.unpack
local ceil, floor, max = math.ceil, math.floor, math.max

local time = call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local token_floor = time[1] * 1000000 + time[2]

-- Waiters that became holders in this call, by channel: who is to be told at its end.
local wakes = {}

-- A server that is out of memory refuses SET and the like, until a script has made one write that it allows. Whatever
-- keeps or ends a lease must get through: a full server is no reason to lose the locks that are held. The write that
-- opens the door changes nothing, since no claim has an empty id.
local function write_always(key, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'OOM', 1, true) then error(reply.err, 0) end
  call('HDEL', key .. ':w', '')
  return call(...)
end

