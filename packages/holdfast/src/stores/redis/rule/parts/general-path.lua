-- The verbs in full. Each works on one lock, whose head was read, and returns one line.
--
-- Input   as run_verb says below
-- Output  run_verb(verb, key, head, id, terms)  the line of the answer, or of its error

-- @include parts/note-grants.lua
-- @include parts/writes.lua
-- @include parts/refused-claims.lua
-- @include parts/lock-state.lua
-- @include parts/grant-rule.lua
-- @include parts/redlock-seal.lua
-- @include parts/attempt.lua
-- @include parts/renew.lua
-- @include parts/withdraw.lua

-- An error as one line. Some versions of the server raise tables, others strings.
local function error_line(raised)
  local text = type(raised) == 'table' and raised.err or raised
  return 'e ' .. string.gsub(tostring(text), '[\r\n]', ' ')
end

local verbs = { a = attempt, r = renew, w = withdraw, t = retract, s = seal }

-- Runs any verb. Returns its line, or that of its error.
--   head: what GET found at the key, which may be an error
--   terms: its terms, as JSON
local function run_verb(verb, key, head, id, terms)
  if type(head) == 'table' then return error_line(head) end
  local own_channel = string.match(ARGV[1], '%u+ (.*)$')
  local done, line = pcall(verbs[verb], key, head, id, cjson.decode(terms), own_channel)
  return done and line or error_line(line)
end
