package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestAppendFile(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.append_file('/tmp/log', 'one', 384)")
		between()
		s.touches([]string{"/tmp/log"}, []string{"/tmp"}, "SELECT fs.append_file('/tmp/log', $1)", make([]byte, 65536))
		between()
		s.must("SELECT fs.append_file('/tmp/log', 'two')")
		s.touches(nil, []string{"/tmp/log", "/tmp"}, "SELECT fs.append_file('/tmp/log', '')")
		wants(s, "65542 384", "SELECT size || ' ' || mode FROM fs.stat('/tmp/log')")
		wants(s, true, "SELECT fs.read_file('/tmp/log') = 'one'::bytea || decode(repeat('00', 65536), 'hex') || 'two'::bytea")
		s.wantUsage(65542, 1)
		s.must("SELECT fs.append_file('/dev/null', 'x')")
		s.fails(vfs.EISDIR, "SELECT fs.append_file('/tmp', 'x')")
		s.fails(vfs.EISDIR, "SELECT fs.append_file('/tmp/log/', 'x')")
	})
}
