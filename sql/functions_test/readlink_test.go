package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/fserr"
)

func TestReadlink(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.symlink('../no//where/', '/tmp/l')")
		between()
		wants(s, "../no//where/", "SELECT fs.readlink('/tmp/l')")
		wants(s, "usr/bin", "SELECT fs.readlink('/bin')")
		s.fails(fserr.EINVAL, "SELECT fs.readlink('/bin/')")
		s.fails(fserr.EINVAL, "SELECT fs.readlink('/tmp')")
		s.fails(fserr.ENOENT, "SELECT fs.readlink('/tmp/none')")
	})
}
