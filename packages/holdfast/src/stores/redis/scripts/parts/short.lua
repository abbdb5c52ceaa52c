-- The short paths. Nearly every claim of a mutex finds the lock idle and leaves it alone on it: there is nothing to
-- expire, nobody to promote, and the head can be written without reading all of it.

-- A TTL is as dear as the rest of a write. So a head gets more than it needs, and keeps it until that is used up.

-- Grants an idle lock as a whole. Returns nil where that is not all: the lock is not idle, or the claim was withdrawn.
local function take_idle(key, id, shape, head)
  if shape[3] ~= shape[2] then return nil end
  if head and (#head ~= IDLE_LENGTH or string.sub(head, 1, 1) ~= 'I') then return nil end
  if call('ZSCORE', key .. ':t', id) then return nil end
  local token, buried, tombs_until, kept_until = token_floor, 0, 0, 0
  if head then
    local _, last_token
    _, last_token, buried, tombs_until, kept_until = unpack_form(IDLE_FORM, head)
    if last_token >= token then token = last_token + 1 end
  end
  local ttl_ms = shape[4]
  local keep_ms
  if kept_until < now + ttl_ms + KEEP_MS then
    keep_ms = 2 * ttl_ms + KEEP_MS
    kept_until = now + keep_ms
  end
  local sole = pack_form(
    SOLE_FORM, 'S', buried, tombs_until, kept_until, ttl_ms, shape[6], token, now, now + ttl_ms, shape[2], shape[1],
    id, shape[8]
  )
  if keep_ms then
    call('SET', key, sole, 'PX', ceil(keep_ms))
  else
    call('SET', key, sole, 'KEEPTTL')
  end
  return string.format('n%.0f', token)
end

-- Frees a lock that this claim holds as a whole. Returns nil when it does not, or its lease has ended.
local function release_sole(key, id, shape, head)
  if not head or string.sub(head, 1, 1) ~= 'S' then return nil end
  local _, buried, tombs_until, kept_until, _, tokens, token, _, expires, _, _, holder_id =
    unpack_form(SOLE_FORM, head)
  if holder_id ~= id or expires <= now then return nil end
  buried, tombs_until = put_tomb(key, id, shape[1], RELEASED, shape[2] == 1, buried, tombs_until)
  local idle = pack_form(IDLE_FORM, 'I', token + tokens - 1, buried, tombs_until, kept_until)
  write_always(key, 'SET', key, idle, 'KEEPTTL')
  return 'released'
end
