-- Tokens that a client of several independent servers chose, after each server voted with one.
--
-- A lock's last token here is at least as large as each token that a claim voted with or sealed.
-- So each server gives each token to one claim only.
--
-- Input   key, head  the lock, and what GET found at its key
--         id  the claim
--         terms  of seal: { token }
-- Output  seal(key, head, id, terms)  the line of the answer
--         raise_token(state, holder, token)

-- The client got this token from a majority of seals. It renews with it, since this server may have
-- missed the seal, or lost it in a restart.
local function raise_token(state, holder, token)
  state[LAST_TOKEN] = max(state[LAST_TOKEN], token)
  holder[TOKEN] = token
end

-- Seals a lock that one claim holds alone, in its short form. Returns nothing for any other head.
local function seal_sole(key, head, id, token)
  if type(head) ~= 'string' or byte(head) ~= SOLE_ONE then return nil end
  if sub(head, SOLE_LENGTH + 1, SOLE_LENGTH + #id + 1) ~= id .. '\0' then return nil end
  local _, ends, _, _, _, _, kept_until, last_token = unpack_form(SOLE_FORM_TO_ID, head)
  -- Alone on the lock, the claim has the last token.
  if ends <= now or token < last_token then return nil end
  local needed_until = token / 1000 + KEEP_MS
  if kept_until >= needed_until then
    local sealed = sub(head, 1, SOLE_LENGTH - 8) .. pack_form('>d', token) .. sub(head, SOLE_LENGTH + 1)
    write_always(key, 'SET', key, sealed, 'KEEPTTL')
  else
    local sealed = sub(head, 1, SOLE_LENGTH - 16) .. pack_form('>dd', needed_until, token) .. sub(head, SOLE_LENGTH + 1)
    write_always(key, 'SET', key, sealed, 'PX', ceil(needed_until - now))
  end
  return 'sealed'
end

-- terms: { token }
local function seal(key, head, id, terms)
  local token = terms[1]
  local short = seal_sole(key, head, id, token)
  if short then return short end
  local state = load_state(key, head)
  local changed = expire_and_promote(key, state)
  local holder = find_holder(key, state, id)
  local reason
  if holder then reason = holder[STEAL_REASON] or nil else reason = steal_reason_of(key, id) end
  local line = reason and 's ' .. reason or 'l'
  if holder and not holder[STEAL_REASON] then
    local is_new = token > state[LAST_TOKEN]
    line = (is_new or token == holder[TOKEN]) and 'sealed' or string.format('behind %.0f', state[LAST_TOKEN])
    if is_new then
      raise_token(state, holder, token)
      put_holder(key, state, holder, false, write_always)
      changed = true
    end
  end
  if changed then save_state(key, state, write_always) end
  return line
end
