-- Requests of one tick of a client. One script takes them all: the server that granted a claim then
-- knows the script of its release. A process that ends at once waits for no answer to that.
--
-- KEYS    the key of each request's lock, in the order of the requests; a key may come twice. In a
--         Cluster the helper keys of these locks follow, which the script finds by itself
-- ARGV 1  the form of the call, the command that publishes, SPUBLISH in a Cluster, and the channel
--         where this client listens, with blanks between them. A client of several independent
--         servers listens nowhere: there stand TOKEN and the token that it proposes. Most requests
--         are attempts at the whole of their lock that differ in lock and claim alone, or
--         withdrawals that are not firm and have one TTL:
--         a number of 16 characters  attempts: their TTL * 1024 + their tokens
--         "w" and their TTL  withdrawals; then there is no channel
--         "m" and two numbers of 16 characters  withdrawals, then attempts: the TTL of the
--             withdrawals * 1024 + how many there are, and the number of attempts
--         "j"  any
--         They share a word, since each word of a call costs about 1 700 instructions.
--      2 ...  the terms of the attempts, if any, and the claims' ids; for any requests
--         [verb, index of its terms from 0, claim id, verb, ...] as JSON, and the terms
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
--         w: "released"; alone in a call, 1    "left"  "absent"    t: likewise without "left"
--         s: "sealed"  "behind <last token>"  "l" lost  "s <reason>" stolen
--         "e <error>" for a request that failed; the others are done all the same
--
-- Publishes to a channel, once a call: a line "<claim id> <token> <tokens> <ttl>" for each waiter
-- there that now holds.

-- @include parts/base.lua
local FORM_W, FORM_M, FORM_J, TOKEN_COMMAND = 119, 109, 106, 84
local call_form, ids_at, command_at = ARGV[1], 2, 18
local form = call_form:byte()
local withdrawals, withdrawn_ms, ttl_ms, tokens, terms = 0
local requests, run_other
if form == FORM_W then
  withdrawals, ids_at, command_at = #ARGV, 1, 0
elseif form == FORM_J then
  requests, command_at = cjson.decode(ARGV[2]), 3
else
  local both
  if form == FORM_M then
    both = sub(call_form, 2, 17) + 0
    withdrawals = both % 1024
    withdrawn_ms = (both - withdrawals) / 1024
    both, command_at = sub(call_form, 18, 33) + 0, 35
  else
    both = sub(call_form, 1, 16) + 0
  end
  terms = ARGV[2]
  tokens = both % 1024
  ttl_ms = (both - tokens) / 1024
end

local count = requests and #requests / 3 or #ARGV - ids_at
local lines, line = count > 1 and {}
-- What the keys hold that were released here: a process often wants the same lock again at once.
local freed = form == FORM_M and {}
-- Servers whose clocks differ give one token, and the client need not ask again. What they give
-- instead of a proposal that is too far ahead is no further apart than their clocks.
local proposed, ahead_ms = call_form:byte(command_at) == TOKEN_COMMAND, 0
if proposed then
  token_floor = math.max(token_floor, math.min(sub(call_form, command_at + 6) + 0, token_floor + MOST_AHEAD))
  ahead_ms = token_floor / 1000 - now
end
-- To write a number as text takes longer than to read it.
local floor_line = token_floor
if terms and lines then
  floor_line = proposed and string.format('n%d', token_floor) or 'n' .. time[1] .. sub('00000' .. time[2], -6)
end
for index = 1, count do
  local key = KEYS[index]
  local head = freed and freed[key] or try('GET', key)
  local verb, id, any_terms
  line = nil
  if requests then
    local at = index * 3
    verb, any_terms, id = requests[at - 2], ARGV[requests[at - 1] + 3], requests[at]
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
      if form == FORM_W then withdrawn_ms = string.match(call_form, '%d+') end
      -- @include parts/other-paths.lua
      return run_other
    end)()
    line = run_other(verb, key, head, id, any_terms)
  end
  if lines then lines[index] = line end
end
-- @include parts/publish-grants.lua
if lines then return table.concat(lines, '\n') end
-- Clients read a number sooner than a text.
return line == 'released' and 1 or line
