-- Notes that a waiter became a holder: it is told at the end of the call.
-- Takes: waiter holder wakes

wakes = wakes or {}
local told = wakes[waiter[CHANNEL]] or {}
wakes[waiter[CHANNEL]] = told
told[#told + 1] = string.format('%s %.0f %.0f %.3f', holder[ID], holder[TOKEN], holder[TOKENS], holder[TTL])
