-- Wake-ups: what this call grants to waiters is published when it ends.
--
-- Input   channel  where the waiter's client listens
--         holder  the waiter as a holder
-- Output  note_grant(channel, holder)  nothing; the grant stands in grants

-- Notes that a waiter became a holder.
local function note_grant(channel, holder)
  local line = string.format('%s %.0f %.0f %.3f', holder[ID], holder[TOKEN], holder[TOKENS], holder[TTL])
  grants = grants or {}
  grants[channel] = grants[channel] and grants[channel] .. '\n' .. line or line
end
