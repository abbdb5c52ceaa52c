-- What every script needs: constants, the ways to call the server, and its time. The build replaces
-- names in capitals by their values. A constant would cost each function that uses it a search
-- through all of them, at each call of the script.
--
-- Input   none
-- Output  the constants; call, try and sub; grants, for publish-grants.lua;
--         now and token_floor, the server's time in milliseconds and in microseconds

-- The state of a lock. SEQUENCE: the last queue number. SHARING: how many holders share the lock.
-- HELPERS_UNTIL: until when the helper keys live. SINCE_TRIM: withdrawals since tombstones were
-- trimmed. TOMBS_UNTIL: until when the tombstones live. NEEDED_UNTIL: the last end of a lease or
-- waiter. SOLE: the holder of all of it, or false. KEPT_UNTIL: until when the key of the head
-- lives. STUCK_UNTIL: until when the first waiter lives at least, and cannot fit.
local KIND, CAPACITY, LAST_TOKEN, HELD, NEXT_EXPIRY, WAITERS = 1, 2, 3, 4, 5, 6
local SEQUENCE, SHARING, HELPERS_UNTIL, SINCE_TRIM, TOMBS_UNTIL, NEEDED_UNTIL, SOLE = 7, 8, 9, 10, 11, 12, 13
local KEPT_UNTIL, STUCK_UNTIL, LENGTH = 14, 15, 15

-- A holder, and its first five fields of a waiter. STEAL_REASON is false, or the reason of a steal:
-- "" where the operator gave none.
local ID, OWNER, WEIGHT, TTL, TOKENS, TOKEN, GRANTED, EXPIRES, STEAL_REASON = 1, 2, 3, 4, 5, 6, 7, 8, 9
-- Of a holder that adopted its lease: the id of the claim that it took the lease from. Then the
-- token of the grant with which the lease began.
local PREDECESSOR, FIRST_TOKEN = 10, 11
-- The rest of a waiter.
local HEARTBEAT, SINCE, SEEN, CHANNEL = 6, 7, 8, 9

-- The first byte of an idle head, of a head that one claim holds alone, and of a packed array of
-- LENGTH fields. No text begins with one of them.
local IDLE, SOLE_ONE, PACKED = 1, 2, 159
-- The first byte of a head in a later format. Two bytes follow, the number of that format, and then
-- what that format says. The fast paths take this byte for a foreign text, and leave such a head to
-- the general path, which refuses it.
local LATER, LATER_FORM, LATER_LENGTH = 3, '>BH', 3
-- An idle head: SINCE_TRIM, TOMBS_UNTIL, KEPT_UNTIL, LAST_TOKEN. Behind it is the ring: the claims
-- that the fast path released, the last one first, each with a zero byte. Of a longer ring only the
-- newer half is kept.
local IDLE_FORM, IDLE_LENGTH = '>BHddd', 27
-- A sole head: the end of the lease, and the length of the ring behind the claim's id. Then comes
-- the idle head that a release leaves, with that id as the first of its ring. At last come the
-- claim's terms. So a release cuts one text out of it, and does not read the terms. Scripts pay for
-- each byte of each text that they make.
local SOLE_FORM, SOLE_FORM_TO_ID, SOLE_LENGTH, IDLE_AT = '>BdHBHddds', '>BdHBHddd', 38, 12
local RING_LENGTH, HALF_RING = 80, 40

local HEARTBEATS_TO_LIVE = 3
-- The keys of a lock outlive what is in them by this, so that the last token is remembered. This
-- time only has to bridge how far blocks of tokens may run ahead of the clock. A clock that is set
-- back keeps the key for longer, too. One that is set back by more than the lock was idle, once the
-- key is gone, takes the tokens back; see docs/stores/redis.md.
local KEEP_MS = 60000

-- How far a proposed token may be ahead of this server's clock, in microseconds.
local MOST_AHEAD = 500000

-- Outcomes of a withdrawal, and limits of tombstones: see there. A repeated withdrawal of a stolen
-- claim answers that it is absent.
local ABSENT, LEFT, RELEASED, STOLEN = 0, 1, 2, 3
local FIRM = 4503599627370496
local COMMON_KEPT, FIRM_KEPT, TRIM_AFTER = 128, 8192, 256

local call, try, sub = redis.call, redis.pcall, string.sub

-- What waiters were granted in this call, as lines of text by channel; nil while there is nothing.
local grants

local time = call('TIME')
local token_floor = time[1] * 1000000 + time[2]
local now = token_floor / 1000
