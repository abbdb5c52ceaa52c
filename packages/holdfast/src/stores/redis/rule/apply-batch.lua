-- Attempts, renewals, withdrawals and seals of one tick of a client, each on a lock of its own.
--
-- KEYS    the key of each request's lock, in the order of the requests; a key may come twice. In a
--         Cluster the helper keys of these locks follow, which the script finds by itself
-- ARGV 1  the command that publishes, SPUBLISH in a Cluster, and behind a blank the channel where
--         this client listens
--   For one request:
--      2  its verb  3  its terms  4  the claim's id
--      5  the TTL and 6 the tokens of an attempt that wants all of the lock; 5 the TTL of a
--         withdrawal that is not firm: what the fast paths need without decoding the terms
--   For several:
--      2  JSON: [verb, index of its terms from 0, claim id, verb, ...]  3 ... the terms
--   A verb and its terms, as JSON:
--         "a" [kind, capacity, weight, ttl, heartbeat, tokens, enqueue 0|1, owner]
--         "r" [ttl, or 0 to keep the end of the lease, owner], and the token that several servers
--             sealed
--         "w" [ttl, firm 0|1]    "t" []    "s" [token]
-- Returns one line for each request:
--         a: "n<token>" granted as asked for
--            "g <existing 0|1> <token> <tokens> <ttl> <remaining>"
--            "w <queue number, or - when known> [<next expiry in>]"  "b [<next expiry in>]"
--            "x" was withdrawn  "m <kind> <capacity>" is in use as another kind
--         r: "r" renewed  "l" lost  "s <reason>" stolen
--         w: "released"  "left"  "absent"    t: "released"  "absent"
--         s: "sealed"  "behind <last token>"  "l" lost  "s <reason>" stolen
--         "e <error>" for a request that failed; the others are done all the same
--
-- Publishes to a channel, once a call: a line "<claim id> <token> <tokens> <ttl>" for each waiter
-- there that now holds.
--
-- Nearly every claim of a mutex finds the lock idle and leaves it alone on it. The others find it
-- held, and get it from the claim before. Fast paths serve these. They raise no errors, and leave
-- to the general path what they cannot do. Each call of a script makes its functions, and to make
-- them all takes longer than a fast path. So each part is included where a request needs it first.

-- @include parts/base.lua

local alone = #ARGV[2] == 1
local count, requests, ttls, tokens_of, lines = 1
if not alone then
  requests, ttls, tokens_of, lines = cjson.decode(ARGV[2]), {}, {}, {}
  count = #requests / 3
  for index = 3, #ARGV do
    local terms = cjson.decode(ARGV[index])
    -- Fast paths serve attempts at all of a lock, and withdrawals that are not firm.
    if #terms == 8 then
      if terms[2] == terms[3] then ttls[index], tokens_of[index] = terms[4], terms[6] end
    elseif terms[2] == 0 then
      ttls[index] = terms[1]
    end
  end
end

-- Made where a request needs them first.
local grant_idle, release_sole, queue_up, release_to_next, run_verb
for index = 1, count do
  local key, verb, id, terms, ttl_ms, tokens = KEYS[index]
  if alone then
    verb, terms, id, ttl_ms, tokens = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
    if ttl_ms then ttl_ms = ttl_ms + 0 end
  else
    local at = index * 3
    local which = requests[at - 1] + 3
    verb, id, terms, ttl_ms, tokens = requests[at - 2], requests[at], ARGV[which], ttls[which], tokens_of[which]
  end
  local head = try('GET', key)
  local line
  if ttl_ms and type(head) == 'string' and byte(head) == PACKED then
    local readable, state = pcall(cmsgpack.unpack, head)
    local sole = readable and #state == LENGTH and state[NEXT_EXPIRY] > now and state[SOLE]
    if sole and verb == 'a' and sole[ID] ~= id then
      if not queue_up then
        -- @include fast-paths/queue-up.lua
      end
      line = queue_up(key, id, state, cjson.decode(terms), string.match(ARGV[1], '^%S+ (.*)$'))
    elseif sole and verb == 'w' and sole[ID] == id then
      if not release_to_next then
        -- @include parts/note-grants.lua
        -- @include parts/next-token.lua
        -- @include fast-paths/release-to-next.lua
      end
      line = release_to_next(key, id, ttl_ms, state)
    end
  elseif ttl_ms and verb == 'a' then
    if not grant_idle then
      -- @include fast-paths/grant-idle.lua
    end
    line = grant_idle(key, head, id, terms, ttl_ms, tokens)
  elseif ttl_ms then
    if not release_sole then
      -- @include fast-paths/release-sole.lua
    end
    line = release_sole(key, head, id)
  end
  if not line then
    run_verb = run_verb or (function()
      -- @include parts/note-grants.lua
      -- @include parts/writes.lua
      -- @include parts/refused-claims.lua
      -- @include parts/lock-state.lua
      -- @include parts/grant-rule.lua
      -- @include parts/general-path.lua
      return run_verb
    end)()
    line = run_verb(verb, key, head, id, terms)
  end
  if alone then
    lines = line
  else
    lines[index] = line
  end
end
if grants then
  -- @include parts/publish-grants.lua
end
return alone and lines or table.concat(lines, '\n')
