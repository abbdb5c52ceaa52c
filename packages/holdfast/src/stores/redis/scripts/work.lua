-- Attempts, renewals and withdrawals of one turn of a client's event loop, each on a lock of its
-- own.
--
-- KEYS    the key of each item's lock, in the order of the items; a key may come twice. In a
-- Cluster the helper keys of
--         these locks follow, which the script finds by itself
-- ARGV 1  the command that publishes, SPUBLISH in a Cluster, and behind a blank the channel where
-- this client listens
--   For one item:  2 its verb  3 its shape  4 the claim's id
--                  5 the TTL and 6 the tokens of an attempt that wants all of the lock; 5 the TTL of a withdrawal that is
--                  not firm: what the short way needs to know without reading the shape
--   For several:   2 JSON: [verb, shape index from 0, claim id, verb, ...]  3 ... the shapes
--         a verb and its shape, as JSON:
--                  "a" [kind, capacity, weight, ttl, heartbeat, tokens, enqueue 0|1, owner]
--                  "r" [ttl, owner, token?]    "w" [ttl, firm 0|1]    "t" []    "s" [token]
-- Returns one line for each item:
--         a: "n<token>" granted as asked for
--            "g <existing 0|1> <token> <tokens> <ttl> <remaining>"  "w <place, or - when known> [<next expiry in>]"  "b [<next expiry in>]"
--            "x" was withdrawn  "m <kind> <capacity>" is in use as another kind
--         r: "r" renewed  "l" lost  "s <reason>" stolen         w: "released"  "left"  "absent"
--         t: "released"  "absent"
--         s: "sealed"  "behind <last token>"  "absent"
--         "e <error>" for an item that failed; the others are done all the same
--
-- Publishes to a channel, once a call: a line "<claim id> <token> <tokens> <ttl>" for each waiter
-- there that now holds.

-- The short ways stand here in the open: nearly every claim of a mutex finds the lock idle and
-- leaves it alone on it, or finds it held and gets it from the one before or leaves its queue.
-- There is nothing to expire then, and a head is made out of pieces of the one before. Functions
-- for that would take longer to make, at each call, than it takes. Nothing raises there; what they
-- cannot do they leave as it is, and the long way decides.

-- @include parts/base.lua

local format = string.format
local alone = #ARGV[2] == 1
local items, shapes, ttls, tokens_of, lines
local count = 1
if not alone then
  items, shapes, ttls, tokens_of, lines = cjson.decode(ARGV[2]), {}, {}, {}, {}
  count = #items / 3
  for index = 3, #ARGV do
    local shape = cjson.decode(ARGV[index])
    shapes[index] = shape
    -- Whether it may go a short way: attempts at all of a lock, and withdrawals that are not firm.
    if #shape == 8 then
      if shape[2] == shape[3] then ttls[index], tokens_of[index] = shape[4], shape[6] end
    elseif shape[2] == 0 then
      ttls[index] = shape[1]
    end
  end
end

-- Where this client listens; read when somebody queues.
local channel
local long_way
for index = 1, count do
  local key, verb, id, text, ttl_ms, tokens, shape = KEYS[index]
  if alone then
    verb, text, id, ttl_ms, tokens = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
    if ttl_ms then ttl_ms = ttl_ms + 0 end
  else
    local at = index * 3
    local which = items[at - 1] + 3
    verb, id, text, ttl_ms, tokens, shape =
      items[at - 2], items[at], ARGV[which], ttls[which], tokens_of[which], shapes[which]
  end
  local line
  local head = try('GET', key)
  if ttl_ms and type(head) == 'string' and byte(head) == PACKED then
    local readable, state = pcall(cmsgpack.unpack, head)
    local sole = readable and #state == LENGTH and state[SOLE]
    if sole and state[NEXT_EXPIRY] > now then
      if verb == 'a' then
        -- @include parts/queue-up.lua
      else
        -- @include parts/hand-over.lua
        if not line then
          -- @include parts/leave.lua
        end
      end
    end
  elseif ttl_ms and verb == 'a' then
    -- @include parts/take-idle.lua
  elseif ttl_ms then
    -- @include parts/release-sole.lua
  end
  if not line then
    -- Most calls never need the long way, and making its functions takes longer than a whole short
    -- one.
    long_way = long_way or (function()
      -- @include parts/writes.lua
      -- @include parts/tombstones.lua
      -- @include parts/state.lua
      -- @include parts/rule.lua
      -- @include parts/seal.lua
      -- @include parts/verbs.lua
      channel = channel or string.match(ARGV[1], '^%S+ (.*)$')
      local verbs = { a = attempt, r = renew, w = withdraw, t = retract, s = seal }
      local function run(asked, lock, found, claim, terms)
        if type(found) == 'table' then error(found.err, 0) end
        return verbs[asked](lock, found, claim, terms, channel)
      end
      return { run = run, error_line = error_line }
    end)()
    local done, answer = pcall(long_way.run, verb, key, head, id, shape or cjson.decode(text))
    line = done and answer or long_way.error_line(answer)
  end
  if alone then
    lines = line
  else
    lines[index] = line
  end
end
if wakes then
  local publish = string.match(ARGV[1], '^%S+')
  -- @include parts/publish.lua
end
return alone and lines or table.concat(lines, '\n')
