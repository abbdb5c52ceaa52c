-- Fast path: frees a lock that the claim holds as a whole since it found it idle. No function, as
-- grant-idle.lua says.
--
-- Input   key, id  the lock and the claim
--         head  what the key of the lock holds
-- Output  line  the answer; nil where the claim does not hold it so, or its lease has ended
if type(head) == 'string' and head:byte() == SOLE_ONE then
  local ring_at = SOLE_LENGTH + #id + 2
  if sub(head, SOLE_LENGTH + 1, ring_at - 1) == id .. '\0' then
    local ends, ring_length = struct.unpack('>dH', head, IDLE_LENGTH + 1)
    local ring_end = ring_at + ring_length - 1
    if ends > now and ring_end <= #head then
      if ring_length > RING_LENGTH then ring_end = head:find('\0', ring_at + HALF_RING, true) end
      local idle = '\1' .. sub(head, 2, IDLE_LENGTH) .. id .. '\0' .. sub(head, ring_at, ring_end)
      -- A server that is out of memory may refuse it: the general path knows what to do.
      if try('SET', key, idle, 'KEEPTTL').ok then line = 'released' end
    end
  end
end
