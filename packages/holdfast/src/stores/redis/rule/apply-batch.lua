-- Requests of one tick of a client. One script takes them all: the server that granted a claim then
-- knows the script of its release. A process that ends at once waits for no answer to that.
--
-- KEYS    the key of each request's lock, in the order of the requests; a key may come twice. In a
--         Cluster the helper keys of these locks follow, which the script finds by itself
-- ARGV 1  the command that publishes, SPUBLISH in a Cluster, and behind a blank the channel where
--         this client listens
--      2 ...  most requests are attempts at the whole of their lock that differ in lock and claim
--         alone, or withdrawals that are not firm and have one TTL:
--         the TTL, the tokens, the terms of an attempt, the claims' ids: attempts
--         "w", the TTL, the claims' ids: withdrawals
--         "m", how many withdrawals, their TTL, then as for attempts: withdrawals, then attempts
--         "j", [verb, index of its terms from 0, claim id, verb, ...] as JSON, the terms: any
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

-- @include parts/base.lua
local form, ids_at = ARGV[2], 4
local withdrawals, withdrawn_ms, ttl_ms, tokens, terms, floor_line = 0
local requests, run_other
if form == 'w' then
  withdrawals, withdrawn_ms, ids_at = #ARGV, ARGV[3], 3
elseif form == 'j' then
  requests = cjson.decode(ARGV[3])
else
  if form == 'm' then withdrawals, withdrawn_ms, ids_at = ARGV[3] + 0, ARGV[4], 7 end
  ttl_ms, tokens, terms = ARGV[ids_at - 2] + 0, ARGV[ids_at - 1], ARGV[ids_at]
  floor_line = 'n' .. time[1] .. sub('00000' .. time[2], -6)
end

local count = requests and #requests / 3 or #ARGV - ids_at
local lines, line = count > 1 and {}
for index = 1, count do
  local key = KEYS[index]
  local head = try('GET', key)
  local verb, id, any_terms
  line = nil
  if requests then
    local at = index * 3
    verb, any_terms, id = requests[at - 2], ARGV[requests[at - 1] + 4], requests[at]
  else
    id = ARGV[ids_at + index]
    if index > withdrawals then
      verb = 'a'
      -- @include fast-paths/grant-idle.lua
    else
      verb = 'w'
      -- @include fast-paths/release-sole.lua
    end
  end
  if not line then
    run_other = run_other or (function()
      -- @include parts/other-paths.lua
      return run_other
    end)()
    line = run_other(verb, key, head, id, any_terms)
  end
  if lines then lines[index] = line end
end
-- @include parts/publish-grants.lua
return lines and table.concat(lines, '\n') or line
