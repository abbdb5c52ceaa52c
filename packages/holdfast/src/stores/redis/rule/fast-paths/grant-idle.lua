-- Fast path: grants an idle lock as a whole. It is no function, as a script would make that at each
-- call, which takes as long as the rest of this path.
--
-- Input   key, id  the lock and the claim
--         head  the value of the lock's key, or false where there is none
--         ttl_ms, tokens, terms  of the attempt
--         floor_line  the answer with the smallest token
--         ahead_ms  how far that token is ahead of the server's time
-- Output  line  the answer; nil where the lock is not idle or the claim was withdrawn
local token, since_trim, tombs_until, kept_until, ring = token_floor, 0, 0, 0, ''
local is_idle = not head
-- An error is a table without a length.
if head and #head >= IDLE_LENGTH then
  local head_form, last_token
  head_form, since_trim, tombs_until, kept_until, last_token = struct.unpack(IDLE_FORM, head)
  if head_form == IDLE then
    if last_token >= token then token = last_token + 1 end
    ring = sub(head, IDLE_LENGTH + 1)
    -- A longer id that only begins alike is no harm: the general path looks again.
    is_idle = not ring:find(id, 1, true)
  end
end
-- The head outlives the tombstones. Where it is missing, it may have been evicted alone.
if is_idle and (not head or tombs_until > now) then is_idle = not try('ZSCORE', key .. ':t', id) end
if is_idle then
  -- A TTL costs as much as the rest of a write. So a head gets more than it needs, and keeps it
  -- until that is used up. It needs as much as the lease, and then as much as a release has to be
  -- remembered.
  local needed_ms = ttl_ms + (ttl_ms > KEEP_MS and ttl_ms or KEEP_MS) + ahead_ms
  local keep_ms
  if kept_until < now + needed_ms then
    keep_ms = math.max(ttl_ms + needed_ms, tombs_until - now)
    kept_until = now + keep_ms
  end
  local last_token, ends = token + tokens - 1, now + ttl_ms
  local sole = struct.pack(
    SOLE_FORM_TO_ID, SOLE_ONE, ends, #ring, IDLE, since_trim, tombs_until, kept_until, last_token
  ) .. id .. '\0' .. ring .. terms
  local reply
  if keep_ms then
    reply = try('SET', key, sole, 'PX', math.ceil(keep_ms))
  else
    reply = try('SET', key, sole, 'KEEPTTL')
  end
  if reply.ok then line = token == token_floor and floor_line or string.format('n%d', token) end
end
