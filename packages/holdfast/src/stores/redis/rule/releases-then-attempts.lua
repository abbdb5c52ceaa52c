-- Withdrawals as releases.lua takes them, and then attempts as attempts.lua takes them.
--
-- KEYS    the key of each claim's lock, those of the withdrawals first; a key may come twice. In a
--         Cluster the helper keys of the lock follow, which the script finds by itself
-- ARGV 1  as in apply-batch.lua
--      2  how many withdrawals  3  their TTL
--      4  the TTL  5  the tokens  6  the terms of an attempt  7 ... the claims' ids, as the keys
-- Returns the line of each request, as there. Publishes as apply-batch.lua does.

-- @include parts/base.lua
local floor_line = 'n' .. time[1] .. sub('00000' .. time[2], -6)
local run_other
local withdrawals, withdrawn_ms = ARGV[2] + 0, ARGV[3]
local ttl_ms, tokens, terms = ARGV[4] + 0, ARGV[5], ARGV[6]
local lines, line = #ARGV > 7 and {}
for index = 1, #ARGV - 6 do
  local key, id = KEYS[index], ARGV[6 + index]
  local head = try('GET', key)
  line = nil
  local verb = index > withdrawals and 'a' or 'w'
  if verb == 'a' then
    -- @include fast-paths/grant-idle.lua
  else
    -- @include fast-paths/release-sole.lua
  end
  if not line then
    run_other = run_other or (function()
      -- @include parts/other-paths.lua
      return run_other
    end)()
    line = run_other(verb, key, head, id)
  end
  if lines then lines[index] = line end
end
-- @include parts/publish-grants.lua
return lines and table.concat(lines, '\n') or line
