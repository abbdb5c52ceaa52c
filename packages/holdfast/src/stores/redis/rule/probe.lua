-- Looks for what the other scripts need of a server, without a lock.
--
-- KEYS 1  a key for the probe alone
-- Returns the names of what is missing, or ""
local missing = {}

local function need(name, check)
  local works, found = pcall(check)
  if not (works and found) then missing[#missing + 1] = name end
end

local function ok(...)
  local reply = redis.pcall(...)
  return type(reply) ~= 'table' or not reply.err
end

local key = KEYS[1]
need('struct', function() return struct.unpack('>d', struct.pack('>d', 1)) == 1 end)
need('cmsgpack', function() return cmsgpack.unpack(cmsgpack.pack({ 'a' }))[1] == 'a' end)
need('cjson', function() return cjson.decode('[1]')[1] == 1 end)
need('string.format %.17g', function() return tonumber(string.format('%.17g', 0.1)) == 0.1 end)
need('TIME', function() return #redis.call('TIME') == 2 end)
need('SET PX', function() return ok('SET', key, 'a', 'PX', 1000) end)
need('SET KEEPTTL', function() return ok('SET', key, '\0\255', 'KEEPTTL') end)
need('PTTL', function() return redis.call('PTTL', key) > 0 end)
need('binary values', function() return redis.call('GET', key) == '\0\255' end)
need('DEL', function() return redis.call('DEL', key) == 1 end)
need('ZADD NX', function() return redis.call('ZADD', key, 'NX', '9007199254740993', 'a') == 1 end)
need('ZREMRANGEBYRANK', function() return redis.call('ZREMRANGEBYRANK', key, 0, -1) == 1 end)
need('HSETNX', function() return redis.call('HSETNX', key, 'a', 'b') == 1 end)
need('PEXPIRE', function() return redis.call('PEXPIRE', key, 1000) == 1 end)
redis.pcall('DEL', key)
need('PUBLISH', function() return ok('PUBLISH', key, '') end)
return table.concat(missing, ', ')
