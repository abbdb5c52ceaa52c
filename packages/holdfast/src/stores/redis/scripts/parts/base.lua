-- What every part needs: the constants and the server's time. Names in capitals are put in by value
-- when the scripts are built: a constant would cost each function that uses it a search through all
-- of them, at each call of the script.

local KIND, CAPACITY, LAST_TOKEN, HELD, NEXT_EXPIRY, WAITERS = 1, 2, 3, 4, 5, 6
-- The last number given in the line; how many share; until when helper keys live; withdrawals since
-- tombstones were trimmed; until when the tombstones live; the last end of a lease or waiter; who
-- holds all of it, or false.
local SEQUENCE, SHARING, HELPERS_UNTIL, BURIED, TOMBS_UNTIL, NEEDED_UNTIL, SOLE = 7, 8, 9, 10, 11, 12, 13
-- Until when the key of the head lives; until when the first in the queue lives at least, and
-- cannot fit.
local KEPT_UNTIL, STUCK_UNTIL, LENGTH = 14, 15, 15

-- A holder, and as far as it goes a waiter. BECAUSE is false, or the reason of a steal, "" where
-- none was given.
local ID, OWNER, WEIGHT, TTL, TOKENS, TOKEN, GRANTED, EXPIRES, BECAUSE = 1, 2, 3, 4, 5, 6, 7, 8, 9
-- The rest of a waiter.
local HEARTBEAT, SINCE, SEEN, CHANNEL = 6, 7, 8, 9

-- The first byte of an idle head, and of one that one claim holds alone. No text and no packed
-- array begins so; and that of a packed array of so many.
local IDLE, SOLE_ONE, PACKED = 1, 2, 159
-- The first byte of a head in a later format. Two bytes follow, the number of that format, and
-- whatever that format says. The short ways know this byte no more than a foreign text, and leave
-- such a head to the long way, which refuses it.
local LATER, LATER_FORM, LATER_LENGTH = 3, '>BH', 3
-- Both begin alike: withdrawals since tombstones were trimmed, until when the tombstones live,
-- until when the key lives, the last token.
local IDLE_FORM, IDLE_LENGTH = '>BHddd', 27
-- Then, in a sole head: the end of the lease, how many bytes of releases follow, and the claim's id
-- up to a zero byte.
local SOLE_FORM, SOLE_LENGTH = '>BHddddHs', 37
-- Behind either: claims that were released in the short way, the last one first, each with a zero
-- byte. When there are more bytes of them than this, only the newer half is kept. A sole head ends
-- with the claim's shape, so that a release need not read it: scripts pay for each byte of each
-- text that they see.
local RING_LENGTH, HALF_RING = 240, 120

local HEARTBEATS_TO_LIVE = 3
-- The keys of a lock outlive what is in them by this, so that the last token is remembered: it only
-- has to bridge how far blocks of tokens may run ahead of the clock, since a clock that is set back
-- keeps the key for longer, too. One that is set back by more than the lock was idle, once the key
-- is gone, takes the tokens back; see docs/stores/redis.md.
local KEEP_MS = 60000

-- Tombstones, see there.
local ABSENT, LEFT, RELEASED = 0, 1, 2
local FIRM = 4503599627370496
local COMMON_KEPT, FIRM_KEPT, TRIM_AFTER = 128, 8192, 256

local call, pack_form, unpack_form = redis.call, struct.pack, struct.unpack
local try = redis.pcall
local ceil, floor, max = math.ceil, math.floor, math.max
local byte, find, sub = string.byte, string.find, string.sub

-- Waiters that became holders in this call, by channel; nil while there are none.
local wakes

local time = call('TIME')
local token_floor = time[1] * 1000000 + time[2]
local now = token_floor / 1000
