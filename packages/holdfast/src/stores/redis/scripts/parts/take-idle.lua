-- Grants an idle lock as a whole. Sets the line; not where that is not all: the lock is not idle,
-- or the claim was withdrawn. Takes: key head id ttl_ms tokens text

local token, tombs_until, kept_until, tombs, ring = token_floor, 0, 0, nil, ''
if not head then
  tombs = pack_form('>Hd', 0, 0)
elseif #head >= IDLE_LENGTH and byte(head) == IDLE then
  local last_token
  tombs_until, kept_until, last_token = unpack_form('>ddd', head, 4)
  if last_token >= token then token = last_token + 1 end
  tombs = sub(head, 2, 11)
  ring = sub(head, IDLE_LENGTH + 1)
  -- What only looks like the id is no harm: the long way looks again.
  if find(ring, id .. '\0', 1, true) then tombs = nil end
end
-- The head outlives the tombstones. Where it is missing, somebody may have taken it away.
if tombs and not ((not head or tombs_until > now) and try('ZSCORE', key .. ':t', id)) then
  -- A TTL is as dear as the rest of a write. So a head gets more than it needs, and keeps it until
  -- that is used up. It needs as much as the lease, and then as much as a release has to be
  -- remembered.
  local needed_ms = ttl_ms + max(ttl_ms, KEEP_MS)
  local keep_ms
  if kept_until < now + needed_ms then
    keep_ms = max(ttl_ms + needed_ms, tombs_until - now)
    kept_until = now + keep_ms
  end
  local sole = '\2' .. tombs .. pack_form('>dddH', kept_until, token + tokens - 1, now + ttl_ms, #ring)
    .. id .. '\0' .. ring .. text
  local reply
  if keep_ms then
    reply = try('SET', key, sole, 'PX', ceil(keep_ms))
  else
    reply = try('SET', key, sole, 'KEEPTTL')
  end
  if reply.ok then line = format('n%d', token) end
end
