-- Fast path: frees a lock that the claim holds as a whole since it found it idle. No function, as
-- grant-idle.lua says.
--
-- Input   key, id  the lock and the claim
--         head  what the key of the lock holds
-- Output  line  the answer; nil where the claim does not hold it so, or its lease has ended
--         head  what the key holds then
-- An error is a table without a length.
if head and #head > SOLE_LENGTH and head:byte() == SOLE_ONE then
  local ring_at = SOLE_LENGTH + #id + 2
  -- Text is searched in place, since a part of it would have to be made first.
  if head:find(id, SOLE_LENGTH + 1, true) == SOLE_LENGTH + 1 and head:byte(ring_at - 1) == 0 then
    local ends, ring_length = struct.unpack('>dH', head, IDLE_LENGTH + 1)
    local ring_end = ring_at + ring_length - 1
    if ends > now and ring_end <= #head then
      if ring_length > RING_LENGTH then ring_end = head:find('\0', ring_at + HALF_RING, true) end
      local idle = '\1' .. sub(head, 2, IDLE_LENGTH) .. sub(head, SOLE_LENGTH + 1, ring_end)
      -- A server that is out of memory may refuse it: the general path knows what to do.
      if try('SET', key, idle, 'KEEPTTL').ok then line, head = 'released', idle end
    end
  end
end
