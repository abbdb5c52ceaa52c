-- A resource that refuses late tokens, and writes that are made only if this token is not late.
--
-- KEYS 1  "<largest token> <its owner>"; kept forever
--      2  with commands: the calls that were done lately, by their ids
-- ARGV 1  the token  2  its owner
--         and with commands:  3  the id of the call
--         4 ...  for each command: how many words it has, and the words
-- Returns 0 when the token is stale: then nothing was written. 1 for a call that was done before,
-- and is not done again. "<number from 1> <error>" when a command failed: then those before it were
-- done, and those behind it were not. Else the replies of the commands.

-- A client library that has lost its connection may send a call again while its answer is in
-- flight. It does so within minutes, and only what was sent in one go can stand between the two.
local CALLS_KEPT, KEEP_MS = 4096, 600000

local token, owner, id = ARGV[1], ARGV[2], ARGV[3]
local calls = KEYS[2]
-- First of all: a later token may have been here since.
if calls and redis.call('ZSCORE', calls, id) then return 1 end

-- As text, since numbers in Lua lose digits beyond 2^53.
local function is_larger(one, other)
  if #one ~= #other then return #one > #other end
  return one > other
end

local seen = redis.call('GET', KEYS[1])
if seen then
  local last, last_owner = string.match(seen, '^(%d+) (.+)$')
  if not last then return redis.error_reply('FOREIGN the key of the fence holds something else') end
  if is_larger(last, token) or (last == token and last_owner ~= owner) then return 0 end
end
if seen ~= token .. ' ' .. owner then redis.call('SET', KEYS[1], token .. ' ' .. owner) end

local function run()
  local replies, at = {}, 4
  while ARGV[at] do
    local last = at + tonumber(ARGV[at])
    local reply = redis.pcall(unpack(ARGV, at + 1, last))
    if type(reply) == 'table' and reply.err then return #replies + 1 .. ' ' .. reply.err end
    replies[#replies + 1] = reply
    at = last + 1
  end
  return replies
end

local result = run()
if calls then
  -- Behind the commands: a server that is out of memory refuses it where these have written
  -- nothing, and there is nothing to remember then. To let it through before them would let them
  -- through, too.
  local time = redis.call('TIME')
  redis.pcall('ZADD', calls, time[1] * 1000000 + time[2], id)
  redis.pcall('ZREMRANGEBYRANK', calls, 0, -1 - CALLS_KEPT)
  redis.pcall('PEXPIRE', calls, KEEP_MS)
end
return result
