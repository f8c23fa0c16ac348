package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestReadlink(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.symlink('../no//where/', '/tmp/l')")
		between()
		wants(s, "../no//where/", "SELECT fs.readlink('/tmp/l')")
		wants(s, "usr/bin", "SELECT fs.readlink('/bin')")
		s.fails(vfs.EINVAL, "SELECT fs.readlink('/bin/')")
		s.fails(vfs.EINVAL, "SELECT fs.readlink('/tmp')")
		s.fails(vfs.ENOENT, "SELECT fs.readlink('/tmp/none')")
	})
}
