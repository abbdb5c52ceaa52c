-- What a call says besides its result.

local function publish_wakes(publish)
  for channel, lines in pairs(wakes) do
    -- A grant that cannot be told is found by the waiter's next attempt.
    redis.pcall(publish, channel, table.concat(lines, '\n'))
  end
end

-- An error as one line. Some versions of the server raise tables, others strings.
local function error_line(raised)
  local text = type(raised) == 'table' and raised.err or raised
  return 'e ' .. string.gsub(tostring(text), '[\r\n]', ' ')
end
