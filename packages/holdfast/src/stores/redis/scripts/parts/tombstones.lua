-- Tombstones: claims that were withdrawn, or whose lease ended. They are refused from then on.
--
-- The score holds when the refusal ends and what the withdrawal answered. A firm tombstone is of a claim whose attempt
-- may still be on its way; it stays until it ends. A common one is of a claim whose attempts were all answered, so that
-- none can come late: it only repeats an answer, and the last few of a lock will do.
local OUTCOMES = { [0] = 'absent', [1] = 'left', [2] = 'released' }
local FIRM = 2 ^ 52
local COMMON_KEPT, FIRM_KEPT, TRIM_AFTER = 128, 8192, 256

local function trim_tombs(tombs, state)
  redis.call('ZREMRANGEBYSCORE', tombs, '-inf', string.format('%.0f', now * 4))
  redis.call('ZREMRANGEBYSCORE', tombs, string.format('%.0f', FIRM), string.format('%.0f', FIRM + now * 4))
  local common = redis.call('ZCOUNT', tombs, '-inf', string.format('(%.0f', FIRM))
  local too_many = math.max(common - COMMON_KEPT, redis.call('ZCARD', tombs) - FIRM_KEPT)
  if too_many > 0 then redis.call('ZREMRANGEBYRANK', tombs, 0, too_many - 1) end
  state[BURIED] = math.min(common, COMMON_KEPT)
end

local function bury(key, state, id, ttl_ms, outcome, firm)
  local tombs = key .. ':t'
  local score = math.floor(now + ttl_ms) * 4 + outcome
  if firm then score = score + FIRM end
  write_always(key, 'ZADD', tombs, string.format('%.0f', score), id)
  if state[TOMBS_UNTIL] < now + ttl_ms then
    local keep_ms = 2 * ttl_ms + KEEP_MS
    state[TOMBS_UNTIL] = now + keep_ms
    redis.call('PEXPIRE', tombs, string.format('%.0f', keep_ms))
  end
  state[BURIED] = state[BURIED] + 1
  if state[BURIED] > TRIM_AFTER then trim_tombs(tombs, state) end
end

-- What the withdrawal of a claim answered, and until when it is refused; nil for a claim that was not withdrawn.
local function tomb_of(key, id)
  local score = redis.call('ZSCORE', key .. ':t', id)
  if not score then return nil end
  score = tonumber(score)
  if score >= FIRM then score = score - FIRM end
  return OUTCOMES[score % 4], math.floor(score / 4)
end
