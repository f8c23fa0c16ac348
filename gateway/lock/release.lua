-- Gives the lock, or the place in the line, back. KEYS: lock, line. ARGV: token, lease ms, grant ms, channel prefix.
if holder(ARGV[2]) == ARGV[1] then
	redis.call('del', KEYS[1])
	grant('', ARGV[2], ARGV[3], ARGV[4])
elseif redis.call('type', KEYS[2]).ok == 'list' then
	redis.call('lrem', KEYS[2], 0, ARGV[1])
end
return 1
