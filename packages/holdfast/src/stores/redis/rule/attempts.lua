-- Attempts of one tick that differ in the lock and the claim alone, each at all of its lock. Nearly
-- every attempt at a mutex is one of these.
--
-- KEYS    the key of each attempt's lock; a key may come twice. In a Cluster the helper keys of the
--         lock follow, which the script finds by itself
-- ARGV 1  as in apply-batch.lua
--      2  the TTL  3  the tokens  4  the terms of an attempt, as there  5 ... the claims' ids
-- Returns the line of each attempt, as there. Publishes as apply-batch.lua does.

-- @include parts/base.lua
local floor_line = 'n' .. time[1] .. sub('00000' .. time[2], -6)
local run_other
local ttl_ms, tokens, terms, withdrawn_ms = ARGV[2] + 0, ARGV[3], ARGV[4]
local lines, line = #ARGV > 5 and {}
for index = 1, #ARGV - 4 do
  local key, id = KEYS[index], ARGV[4 + index]
  local head = try('GET', key)
  line = nil
  -- @include fast-paths/grant-idle.lua
  if not line then
    run_other = run_other or (function()
      -- @include parts/other-paths.lua
      return run_other
    end)()
    line = run_other('a', key, head, id)
  end
  if lines then lines[index] = line end
end
-- @include parts/publish-grants.lua
return lines and table.concat(lines, '\n') or line
