-- Fast path: frees a lock that the claim holds as a whole since it found it idle. No function, as
-- grant-idle.lua says.
--
-- Input   key, id  the lock and the claim
--         head  what the key of the lock holds
-- Output  line  the answer; nil where the claim does not hold it so, or its lease has ended
--         head  what the key holds then
-- An error is a table without a length.
if head and #head > SOLE_LENGTH then
  local head_form, ends, ring_length = struct.unpack('>BdH', head)
  local ring_at = SOLE_LENGTH + #id + 2
  local ring_end = ring_at + ring_length - 1
  -- Text is searched in place, since a part of it would have to be made first.
  if
    head_form == SOLE_ONE
    and ends > now
    and head:find(id, SOLE_LENGTH + 1, true) == SOLE_LENGTH + 1
    and head:byte(ring_at - 1) == 0
    and ring_end <= #head
  then
    if ring_length > RING_LENGTH then ring_end = head:find('\0', ring_at + HALF_RING, true) end
    local idle = sub(head, IDLE_AT, ring_end)
    -- A server that is out of memory may refuse it: the general path knows what to do.
    if try('SET', key, idle, 'KEEPTTL').ok then line, head = 'released', idle end
  end
end
