-- Prolongs the lease. KEYS: lock. ARGV: token, lease ms. Returns 1 when the token holds the lock.
local h = holder(ARGV[2])
if h == ARGV[1] then
	redis.call('pexpire', KEYS[1], ARGV[2])
	return 1
end
if not h then
	-- Redis was restarted or flushed within the lease, and nobody else came since.
	redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
	return 1
end
return 0
