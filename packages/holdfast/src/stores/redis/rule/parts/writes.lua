-- Writes that get through.
--
-- A server that is out of memory refuses SET and similar commands, until a script has made one
-- write that it allows. A write that keeps or ends a lease must get through: a full server is no
-- reason to lose the locks that are held. The write that opens the door changes nothing, since no
-- claim has an empty id.
--
-- Input   key  the lock, whose helper key takes the write that changes nothing
-- Output  write_always(key, ...)  the reply of a command that is always allowed
--         refuse_on_replica(key)  an error on a replica
local function write_always(key, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'OOM', 1, true) then error(reply.err, 0) end
  call('HDEL', key .. ':w', '')
  return call(...)
end

-- Fails on a replica. What it answers without a write may come from data that it has not got yet:
-- while it loads them, no lock is held there.
local function refuse_on_replica(key)
  call('HDEL', key .. ':w', '')
end
