package functions_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// The common call of every verb that takes many arguments, as it is typed in psql.
func TestDefaults_areTheCommonCall(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	id := get[uuid.UUID](s, "SELECT id FROM fs.create_sandbox(p_owner => 'ann', p_name => 'work')")
	wants(s, "default ann work", "SELECT concat_ws(' ', tenant, owner, name) FROM fs.get_sandbox($1)", id)
	s.fails(vfs.EINVAL, "SELECT fs.create_sandbox()")
	s.fails(vfs.EINVAL, "SELECT fs.create_sandbox(p_owner => 'ann')")
	wants(s, int64(1000000), "SELECT max_bytes FROM fs.update_sandbox($1, p_max_bytes => 1000000)", id)
	wants(s, "work", "SELECT name FROM fs.update_sandbox($1)", id)

	s.must("SELECT fs.use($1)", id)
	s.id = id
	s.must("SELECT fs.write_file('/a', 'a')")
	first := s.version()
	s.must("SELECT fs.write_file('/b', 'b')")
	s.must("SELECT fs.chmod('/b', 384)")
	lists(s, []string{"create /a", "create /b", "chmod /b"},
		"SELECT op || ' ' || path FROM fs.changes_since($1) ORDER BY version, seq", id)
	lists(s, []string{"create /b", "chmod /b"},
		"SELECT op || ' ' || path FROM fs.changes_since($1, $2) ORDER BY version, seq", id, first)
	lists(s, []string{"chmod", "create"}, "SELECT op FROM fs.history($1, '/b')", id)
	wants(s, true, "SELECT count(*) >= 3 FROM fs.timeline($1)", id)

	fork := get[uuid.UUID](s, "SELECT id FROM fs.fork($1)", id)
	wants(s, "ann work", "SELECT concat_ws(' ', owner, name) FROM fs.get_sandbox($1)", fork)
	wants(s, first+4, // sealing for the fork is one, too
		`SELECT a.version FROM fs.fence($1) f, fs.apply(f.id, f.version, f.next_ino, f.used_bytes, f.used_inodes) a`, id)
}
