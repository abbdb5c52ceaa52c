-- Where a fencing token is made. It is larger than each earlier one of the lock, and at least the
-- server's time in microseconds. So tokens also grow after the loss of the lock's key. A proposed
-- token that is little ahead of that time takes its place.
-- grant-idle.lua does the same on the bytes of an idle head.
--
-- Input   state  the state of the lock
-- Output  next_token(state)  the token
local function next_token(state)
  return max(state[LAST_TOKEN] + 1, token_floor)
end
