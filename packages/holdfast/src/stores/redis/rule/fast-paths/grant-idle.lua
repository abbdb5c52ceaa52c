-- Fast path: grants an idle lock as a whole.
--
-- Input   key, id  the lock and the claim
--         head  the value of the lock's key, or false where there is none
--         terms  the terms of the attempt, as JSON; ttl_ms and tokens are among them
-- Output  grant_idle(key, head, id, terms, ttl_ms, tokens)  the answer; nil where the lock is not
--         idle or the claim was withdrawn
function grant_idle(key, head, id, terms, ttl_ms, tokens)
  local token, tombs_until, kept_until, counts, ring = token_floor, 0, 0, nil, ''
  if not head then
    counts = pack_form('>Hd', 0, 0)
  elseif #head >= IDLE_LENGTH and head:byte() == IDLE then
    local last_token
    tombs_until, kept_until, last_token = unpack_form('>ddd', head, 4)
    if last_token >= token then token = last_token + 1 end
    counts = head:sub(2, 11)
    ring = head:sub(IDLE_LENGTH + 1)
    -- A text that only looks like the id is no harm: the general path looks again.
    if ring:find(id .. '\0', 1, true) then return nil end
  else
    return nil
  end
  -- The head outlives the tombstones. Where it is missing, it may have been evicted alone.
  if (not head or tombs_until > now) and try('ZSCORE', key .. ':t', id) then return nil end
  -- A TTL costs as much as the rest of a write. So a head gets more than it needs, and keeps it
  -- until that is used up. It needs as much as the lease, and then as much as a release has to be
  -- remembered.
  local needed_ms = ttl_ms + max(ttl_ms, KEEP_MS)
  local keep_ms
  if kept_until < now + needed_ms then
    keep_ms = max(ttl_ms + needed_ms, tombs_until - now)
    kept_until = now + keep_ms
  end
  local sole = '\2' .. counts .. pack_form('>dddH', kept_until, token + tokens - 1, now + ttl_ms, #ring)
    .. id .. '\0' .. ring .. terms
  local reply
  if keep_ms then
    reply = try('SET', key, sole, 'PX', ceil(keep_ms))
  else
    reply = try('SET', key, sole, 'KEEPTTL')
  end
  return reply.ok and string.format('n%d', token) or nil
end
