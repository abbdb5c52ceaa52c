-- Attempts, renewals and withdrawals of one turn of a client's event loop, each on a lock of its own.
--
-- KEYS    the key of each item's lock, in the order of the items; a key may come twice. In a Cluster the helper keys of
--         these locks follow, which the script finds by itself
-- ARGV 1  JSON: [channel, [shape, ...], [verb, shape index from 0, claim id, verb, ...], publish]
--         channel: where this client listens for grants
--         publish: the command that publishes, SPUBLISH in a Cluster
--         verb and its shape: "a" [kind, capacity, weight, ttl, heartbeat, tokens, enqueue 0|1, owner]
--                             "r" [ttl, owner]    "w" [ttl, firm 0|1]    "t" []
-- Returns one line for each item:
--         a: "n<token>" granted as asked for
--            "g <existing 0|1> <token> <tokens> <ttl> <remaining>"  "w [<next expiry in>]"  "b [<next expiry in>]"
--            "x" was withdrawn  "m <kind> <capacity>" is in use as another kind
--         r: "r" renewed  "l" lost  "s <reason>" stolen         w: "released"  "left"  "absent"
--         t: "released"  "absent"
--         "e <error>" for an item that failed; the others are done all the same
--
-- Publishes to a channel, once a call: a line "<claim id> <token> <tokens> <ttl>" for each waiter there that now holds.

-- @include parts/base.lua
-- @include parts/tombstones.lua
-- @include parts/short.lua
-- @include parts/publish.lua

-- Most calls never need the long way, and making its functions takes longer than a whole short one.
local function make_verbs()
  -- @include parts/state.lua
  -- @include parts/rule.lua
  -- @include parts/verbs.lua
  return { a = attempt, r = renew, w = withdraw, t = retract }
end

local request = cjson.decode(ARGV[1])
local channel, shapes, items = request[1], request[2], request[3]
local verbs

local function do_item(verb, key, id, shape)
  local head = call('GET', key)
  local line
  if verb == 'a' then
    line = take_idle(key, id, shape, head)
  elseif verb == 'w' then
    line = release_sole(key, id, shape, head)
  end
  if line then return line end
  verbs = verbs or make_verbs()
  return verbs[verb](key, head, id, shape, channel)
end

local lines = {}
for index = 1, #items / 3 do
  local key, at = KEYS[index], index * 3 - 2
  local done, line = pcall(do_item, items[at], key, items[at + 2], shapes[items[at + 1] + 1])
  lines[index] = done and line or error_line(line)
end
if next(wakes) then publish_wakes(request[4]) end
return table.concat(lines, '\n')
