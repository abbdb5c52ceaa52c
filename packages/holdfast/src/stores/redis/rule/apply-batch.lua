-- Requests of one tick of a client that no other script takes. These are renewals, seals, firm
-- withdrawals, attempts at a part of a lock, and any mixture.
--
-- KEYS    the key of each request's lock, in the order of the requests; a key may come twice. In a
--         Cluster the helper keys of these locks follow, which the script finds by itself
-- ARGV 1  the command that publishes, SPUBLISH in a Cluster, and behind a blank the channel where
--         this client listens
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

-- @include parts/base.lua
-- @include parts/shorthands.lua
-- @include parts/general-path.lua

local requests, lines = cjson.decode(ARGV[2]), {}
for index = 1, #requests / 3 do
  local at = index * 3
  local verb, terms, id = requests[at - 2], ARGV[requests[at - 1] + 3], requests[at]
  local key = KEYS[index]
  lines[index] = run_verb(verb, key, try('GET', key), id, terms)
end
-- @include parts/publish-grants.lua
return table.concat(lines, '\n')
