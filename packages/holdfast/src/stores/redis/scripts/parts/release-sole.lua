-- Frees a lock that this claim holds as a whole. Sets the line; not when it does not hold it so, or
-- its lease has ended. Takes: key id ttl_ms, and head, of which as much as is needed was read

local ring_at = SOLE_LENGTH + #id + 2
if type(head) == 'string' and byte(head) == SOLE_ONE and sub(head, SOLE_LENGTH + 1, ring_at - 1) == id .. '\0' then
  local ends, ring_length = unpack_form('>dH', head, IDLE_LENGTH + 1)
  local ring_end = ring_at + ring_length - 1
  if ends > now and ring_end <= #head then
    if ring_length > RING_LENGTH then ring_end = find(head, '\0', ring_at + HALF_RING, true) end
    local idle = '\1' .. sub(head, 2, IDLE_LENGTH) .. id .. '\0' .. sub(head, ring_at, ring_end)
    -- A server that is out of memory may refuse it: the long way knows what to do.
    if try('SET', key, idle, 'KEEPTTL').ok then line = 'released' end
  end
end
