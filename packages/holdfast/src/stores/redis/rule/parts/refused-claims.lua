-- Tombstones: claims that were withdrawn, or whose lease ended. They are refused from then on.
--
-- The score holds when the refusal ends and what the withdrawal answered. A firm tombstone is of a
-- claim whose attempt may still be on its way; it stays until it ends. A common tombstone is of a
-- claim whose attempts were all answered, so that none can come late. It only repeats an answer,
-- and the last few of a lock will do.
--
-- Input   key, state  the lock and its state
--         id, ttl_ms  the claim, and for how long it is refused
--         outcome, firm  what a repeated withdrawal answers, and whether it stays until it ends
-- Output  add_tombstone, put_tombstones, score_of
--         tombstone_of(key, id)  outcome, end, firm
--         note_steal(key, state, id, ttl_ms, reason), steal_reason_of(key, id)
--
-- A claim that a steal removed has a second member beside its tombstone, with the same score: its
-- id, a blank, and the reason. So the two are trimmed together.

-- Returns how many common ones are left.
local function trim_tombstones(tombs)
  local over = floor(now) * 4
  call('ZREMRANGEBYSCORE', tombs, '-inf', over)
  call('ZREMRANGEBYSCORE', tombs, FIRM, FIRM + over)
  local common = call('ZCOUNT', tombs, '-inf', FIRM - 1)
  local too_many = max(common - COMMON_KEPT, call('ZCARD', tombs) - FIRM_KEPT)
  if too_many > 0 then call('ZREMRANGEBYRANK', tombs, 0, too_many - 1) end
  return math.min(common, COMMON_KEPT)
end

local function score_of(ends, outcome, firm)
  local score = floor(ends) * 4 + outcome
  return firm and score + FIRM or score
end

-- Puts up tombstones, the last of which ends in ttl_ms. words: score and claim id of each. Takes
-- and returns how many there are since the last trimming, and until when they live.
local function put_tombstones(key, words, ttl_ms, since_trim, tombs_until)
  local tombs = key .. ':t'
  write_always(key, 'ZADD', tombs, unpack(words))
  if tombs_until < now + ttl_ms then
    local keep_ms = 2 * ttl_ms + KEEP_MS
    tombs_until = now + keep_ms
    call('PEXPIRE', tombs, ceil(keep_ms))
  end
  if since_trim >= TRIM_AFTER then return trim_tombstones(tombs), tombs_until end
  return since_trim + #words / 2, tombs_until
end

local function add_tombstone(key, state, id, ttl_ms, outcome, firm)
  local words = { score_of(now + ttl_ms, outcome, firm), id }
  state[SINCE_TRIM], state[TOMBS_UNTIL] = put_tombstones(key, words, ttl_ms, state[SINCE_TRIM], state[TOMBS_UNTIL])
end

-- The outcome of the withdrawal of a claim, until when it is refused, and whether firmly; nil for a
-- claim that was not withdrawn.
local function tombstone_of(key, id)
  local score = call('ZSCORE', key .. ':t', id)
  if not score then return nil end
  score = tonumber(score)
  local firm = score >= FIRM
  if firm then score = score - FIRM end
  return score % 4, floor(score / 4), firm
end

local function note_steal(key, state, id, ttl_ms, reason)
  local score = score_of(now + ttl_ms, STOLEN, true)
  local words = { score, id, score, id .. ' ' .. reason }
  state[SINCE_TRIM], state[TOMBS_UNTIL] = put_tombstones(key, words, ttl_ms, state[SINCE_TRIM], state[TOMBS_UNTIL])
end

-- The reason of the steal that removed a claim, "" where there was none. nil for any other claim.
local function steal_reason_of(key, id)
  local outcome, refused_until = tombstone_of(key, id)
  if outcome ~= STOLEN or refused_until <= now then return nil end
  local tombs, start = key .. ':t', id .. ' '
  local score = call('ZSCORE', tombs, id)
  local first, last = call('ZCOUNT', tombs, '-inf', '(' .. score), call('ZCOUNT', tombs, '-inf', score)
  for _, member in ipairs(call('ZRANGE', tombs, first, last - 1)) do
    if sub(member, 1, #start) == start then return sub(member, #start + 1) end
  end
  return ''
end
