-- Withdrawals of one tick that are not firm and have one TTL. Nearly every release is one of these.
--
-- KEYS    the key of each claim's lock; a key may come twice. In a Cluster the helper keys of the
--         lock follow, which the script finds by itself
-- ARGV 1  as in apply-batch.lua
--      2  the TTL  3 ... the claims' ids
-- Returns the line of each withdrawal, as there. Publishes as apply-batch.lua does.

-- @include parts/base.lua
local run_other
local withdrawn_ms, ttl_ms, tokens, terms = ARGV[2]
local lines, line = #ARGV > 3 and {}
for index = 1, #ARGV - 2 do
  local key, id = KEYS[index], ARGV[2 + index]
  local head = try('GET', key)
  line = nil
  -- @include fast-paths/release-sole.lua
  if not line then
    run_other = run_other or (function()
      -- @include parts/other-paths.lua
      return run_other
    end)()
    line = run_other('w', key, head, id)
  end
  if lines then lines[index] = line end
end
-- @include parts/publish-grants.lua
return lines and table.concat(lines, '\n') or line
