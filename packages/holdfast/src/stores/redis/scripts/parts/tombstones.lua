-- Tombstones: claims that were withdrawn, or whose lease ended. They are refused from then on.
--
-- The score holds when the refusal ends and what the withdrawal answered. A firm tombstone is of a claim whose attempt
-- may still be on its way; it stays until it ends. A common one is of a claim whose attempts were all answered, so that
-- none can come late: it only repeats an answer, and the last few of a lock will do.

-- Returns how many common ones are left.
local function trim_tombs(tombs)
  local over = floor(now) * 4
  call('ZREMRANGEBYSCORE', tombs, '-inf', over)
  call('ZREMRANGEBYSCORE', tombs, FIRM, FIRM + over)
  local common = call('ZCOUNT', tombs, '-inf', FIRM - 1)
  local too_many = max(common - COMMON_KEPT, call('ZCARD', tombs) - FIRM_KEPT)
  if too_many > 0 then call('ZREMRANGEBYRANK', tombs, 0, too_many - 1) end
  return math.min(common, COMMON_KEPT)
end

-- Puts up a tombstone. Takes and returns how many there are since the last trimming, and until when they live.
local function put_tomb(key, id, ttl_ms, outcome, firm, buried, tombs_until)
  local tombs = key .. ':t'
  local score = floor(now + ttl_ms) * 4 + outcome
  if firm then score = score + FIRM end
  write_always(key, 'ZADD', tombs, score, id)
  if tombs_until < now + ttl_ms then
    local keep_ms = 2 * ttl_ms + KEEP_MS
    tombs_until = now + keep_ms
    call('PEXPIRE', tombs, ceil(keep_ms))
  end
  if buried >= TRIM_AFTER then return trim_tombs(tombs), tombs_until end
  return buried + 1, tombs_until
end
