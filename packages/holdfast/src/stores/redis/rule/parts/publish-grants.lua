-- Publishes what waiters were granted in this call. A grant that cannot be published is found by
-- the waiter's next attempt.
--
-- Input   grants  lines by channel, or nil
--         ARGV 1  has the command that publishes as its first capitals
-- Output  a message for each channel
if grants then
  local command = string.match(ARGV[1], '%u+')
  for channel, lines_of_channel in pairs(grants) do try(command, channel, lines_of_channel) end
end
