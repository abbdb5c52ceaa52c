-- Short names of what Lua and the server bring.
--
-- Input   none
-- Output  these names
local ceil, floor, max = math.ceil, math.floor, math.max
local byte = string.byte
local pack_form, unpack_form = struct.pack, struct.unpack
