-- Frees a lock that this claim holds as a whole. Sets the line; not when it does not hold it so, its lease has ended, or
-- too many releases stand behind the head.
-- Takes: key head id ttl_ms

local shape_at = SOLE_LENGTH + #id + 2
if
  head
  and byte(head) == SOLE_ONE
  and sub(head, SOLE_LENGTH + 1, shape_at - 1) == id .. '\0'
  and unpack_form('>d', head, IDLE_LENGTH + 1) > now
then
  local shape_end = find(head, '\0', shape_at, true)
  if shape_end and #head - shape_end < RING_LENGTH then
    local idle = '\1' .. sub(head, 2, IDLE_LENGTH) .. pack_form('>d', now + ttl_ms) .. id .. '\0'
      .. sub(head, shape_end + 1)
    -- A server that is out of memory may refuse it: the long way knows what to do.
    if try('SET', key, idle, 'KEEPTTL').ok then line = 'released' end
  end
end
