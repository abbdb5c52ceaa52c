-- Fast path: frees a lock that the claim holds as a whole since it found it idle.
--
-- Input   key, id  the lock and the claim
--         head  what the key of the lock holds
-- Output  release_sole(key, head, id)  the answer; nil where the claim does not hold it so, or its
--         lease has ended
function release_sole(key, head, id)
  if type(head) ~= 'string' or head:byte() ~= SOLE_ONE then return nil end
  local ring_at = SOLE_LENGTH + #id + 2
  if head:sub(SOLE_LENGTH + 1, ring_at - 1) ~= id .. '\0' then return nil end
  local ends, ring_length = unpack_form('>dH', head, IDLE_LENGTH + 1)
  local ring_end = ring_at + ring_length - 1
  if ends <= now or ring_end > #head then return nil end
  if ring_length > RING_LENGTH then ring_end = head:find('\0', ring_at + HALF_RING, true) end
  local idle = '\1' .. head:sub(2, IDLE_LENGTH) .. id .. '\0' .. head:sub(ring_at, ring_end)
  -- A server that is out of memory may refuse it: the general path knows what to do.
  return try('SET', key, idle, 'KEEPTTL').ok and 'released' or nil
end
