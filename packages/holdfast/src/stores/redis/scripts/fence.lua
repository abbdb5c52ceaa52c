-- A resource that refuses late tokens, and the writes that are to be made only if this one is not late.
--
-- KEYS 1  "<largest token> <its owner>"; kept for ever
-- ARGV 1  the token  2  its owner  then for each command: how many words it has, and the words
-- Returns 0 when the token is stale: then nothing was written. "<number from 1> <error>" when a command failed: then those
-- before it were done, and those behind it were not. Else the replies of the commands.

local token, owner = ARGV[1], ARGV[2]

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

local replies, at = {}, 3
while ARGV[at] do
  local last = at + tonumber(ARGV[at])
  local reply = redis.pcall(unpack(ARGV, at + 1, last))
  if type(reply) == 'table' and reply.err then return #replies + 1 .. ' ' .. reply.err end
  replies[#replies + 1] = reply
  at = last + 1
end
return replies
