-- holder returns the token under the lock. What we did not write there (another type, no expiry, or one later than any of ours)
-- would never go away by itself, so it is removed.
local function holder(lease)
	local kind = redis.call('type', KEYS[1]).ok
	if kind == 'none' then
		-- Without a write: only the first one of a script is refused when memory is full.
		return false
	end
	if kind == 'string' then
		local ttl = redis.call('pttl', KEYS[1])
		if ttl >= 0 and ttl <= tonumber(lease) * 2 then
			return redis.call('get', KEYS[1])
		end
	end
	redis.call('del', KEYS[1])
	return false
end

-- grant hands the free lock to the first in line whose process listens, and tells it. The grant is short: the process
-- confirms it by asking again. It returns the new holder, false when nobody is there.
local function grant(me, lease, short, channel)
	local kind = redis.call('type', KEYS[2]).ok
	if kind ~= 'list' then
		if kind ~= 'none' then
			redis.call('del', KEYS[2])
		end
		return false
	end
	while true do
		local t = redis.call('lpop', KEYS[2])
		if not t then
			return false
		end
		if t == me then
			redis.call('set', KEYS[1], t, 'px', lease)
			return t
		end
		-- Full memory refuses a set: then the lock is free for who asks next.
		local set = redis.pcall('set', KEYS[1], t, 'px', short)
		if type(set) == 'table' and set.err then
			redis.call('del', KEYS[1])
			return false
		end
		if redis.call('publish', channel .. string.match(t, '^[^/]*'), t .. ' ' .. string.match(KEYS[1], '{(.*)}')) > 0 then
			return t
		end
		redis.call('del', KEYS[1])
	end
end

