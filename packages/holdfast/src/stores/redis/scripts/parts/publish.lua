-- Tells those who became holders in this call.
-- Takes: publish wakes

for heard_at, told in pairs(wakes or {}) do
  -- A grant that cannot be told is found by the waiter's next attempt.
  redis.pcall(publish, heard_at, table.concat(told, '\n'))
end
