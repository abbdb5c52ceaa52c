-- The ways of an attempt or a withdrawal that found its lock neither idle nor held alone, and those
-- of all other requests.
--
-- Input   terms, ttl_ms and tokens of an attempt, or withdrawn_ms, as apply-batch.lua has them
-- Output  run_other(verb, key, head, id, any_terms)  the line of the answer; any_terms are those of
--         another request, as JSON
-- @include parts/shorthands.lua
-- @include fast-paths/queue-up.lua
-- @include fast-paths/release-to-next.lua

-- The state of a lock that one claim holds as a whole while others wait; nil for another lock, and
-- once the lease has ended.
local function queued_state(head)
  if type(head) ~= 'string' or byte(head) ~= PACKED then return nil end
  local readable, state = pcall(cmsgpack.unpack, head)
  return readable and #state == LENGTH and state[SOLE] and state[NEXT_EXPIRY] > now and state or nil
end

local run_verb
local function run_other(verb, key, head, id, any_terms)
  local state = not any_terms and queued_state(head)
  local line = state and (verb == 'a' and queue_up or release_to_next)(key, id, state)
  if line then return line end
  run_verb = run_verb or (function()
    -- @include parts/general-path.lua
    return run_verb
  end)()
  any_terms = any_terms or (verb == 'a' and terms or '[' .. withdrawn_ms .. ',0]')
  return run_verb(verb, key, head, id, any_terms)
end
