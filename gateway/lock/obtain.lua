-- Takes the lock, or a place in the line for it.
-- KEYS: lock, line. ARGV: token, lease ms, grant ms, line ms, channel prefix. Returns 1 when the token holds the lock.
local h = holder(ARGV[2])
if h == ARGV[1] then
	redis.call('pexpire', KEYS[1], ARGV[2])
	return 1
end
-- A process asks for a sandbox once at a time: what it holds under an older token is of a call that it gave up on.
local mine, seq = string.match(ARGV[1], '^(.-)/(%d+)$')
if h then
	local theirs, older = string.match(h, '^(.-)/(%d+)$')
	if theirs == mine then
		if tonumber(older) > tonumber(seq) then
			return 0
		end
		redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
		return 1
	end
end
if not h then
	-- The line goes first: who asks now has not waited longest.
	h = grant(ARGV[1], ARGV[2], ARGV[3], ARGV[5])
	if h == ARGV[1] then
		return 1
	end
	if not h then
		redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
		return 1
	end
end
if not redis.call('lpos', KEYS[2], ARGV[1]) then
	redis.call('rpush', KEYS[2], ARGV[1])
end
redis.call('pexpire', KEYS[2], ARGV[4])
return 0
