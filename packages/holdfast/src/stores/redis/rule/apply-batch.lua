-- Requests of one tick of a client. One script takes them all: the server that granted a claim then
-- knows the script of its release. A process that ends at once waits for no answer to that.
--
-- KEYS    the key of each request's lock, in the order of the requests; a key may come twice. In a
--         Cluster the helper keys of these locks follow, which the script finds by itself
-- ARGV 1  the command that publishes, SPUBLISH in a Cluster, and behind a blank the channel where
--         this client listens
--      2 ...  most requests are attempts at the whole of their lock that differ in lock and claim
--         alone, or withdrawals that are not firm and have one TTL:
--         the TTL * 1024 + the tokens, the terms of an attempt, the claims' ids: attempts
--         "w", the claims' ids: withdrawals; ARGV 1 has their TTL in the place of the channel
--         "m", their TTL * 1024 + how many withdrawals, then as for attempts: withdrawals, then
--             attempts
--         "j", [verb, index of its terms from 0, claim id, verb, ...] as JSON, the terms: any
--         Numbers share a word, since each word of a call costs about 1 700 instructions.
--   A verb and its terms, as JSON:
--         "a" [kind, capacity, weight, ttl, heartbeat, tokens, enqueue 0|1, owner]
--         "r" [ttl, or 0 to keep the end of the lease, owner], and the token that several servers
--             sealed
--         "w" [ttl, firm 0|1]    "t" []    "s" [token]
-- Returns one line for each request:
--         a: "n<token>" granted as asked for; alone in a call, the token as a number
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

-- @include parts/base.lua
local form, ids_at = ARGV[2], 3
local withdrawals, withdrawn_ms, ttl_ms, tokens, terms = 0
local requests, run_other
if form == 'w' then
  withdrawals, ids_at = #ARGV, 2
elseif form == 'j' then
  requests = cjson.decode(ARGV[3])
else
  local both
  if form == 'm' then
    ids_at, both = 5, ARGV[3] + 0
    withdrawals = both % 1024
    withdrawn_ms = (both - withdrawals) / 1024
  end
  both, terms = ARGV[ids_at - 1] + 0, ARGV[ids_at]
  tokens = both % 1024
  ttl_ms = (both - tokens) / 1024
end

local count = requests and #requests / 3 or #ARGV - ids_at
local lines, line = count > 1 and {}
-- What the keys hold that were released here: a process often wants the same lock again at once.
local freed = form == 'm' and {}
-- To write a number as text takes longer than to read it.
local floor_line = terms and lines and 'n' .. time[1] .. sub('00000' .. time[2], -6) or token_floor
for index = 1, count do
  local key = KEYS[index]
  local head = freed and freed[key] or try('GET', key)
  local verb, id, any_terms
  line = nil
  if requests then
    local at = index * 3
    verb, any_terms, id = requests[at - 2], ARGV[requests[at - 1] + 4], requests[at]
  else
    id = ARGV[ids_at + index]
    if index > withdrawals then
      verb = 'a'
      if freed then freed[key] = nil end
      -- @include fast-paths/grant-idle.lua
    else
      verb = 'w'
      -- @include fast-paths/release-sole.lua
      if freed then freed[key] = line and head end
    end
  end
  if not line then
    run_other = run_other or (function()
      if form == 'w' then withdrawn_ms = string.match(ARGV[1], ' (.*)$') end
      -- @include parts/other-paths.lua
      return run_other
    end)()
    line = run_other(verb, key, head, id, any_terms)
  end
  if lines then lines[index] = line end
end
-- @include parts/publish-grants.lua
return lines and table.concat(lines, '\n') or line
