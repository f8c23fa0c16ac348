package functions_test

import (
	"regexp"
	"testing"

	gatewaytree "github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// Kinds and the size of a chunk have the same names and numbers here and in the gateway, and nothing but names is
// written in functions.
func TestKind_isTheGateways(t *testing.T) {
	t.Parallel()
	conn := sqltest.Owner(t)
	names := map[string]bool{"whiteout": true}
	for _, k := range []vfs.Kind{vfs.FIFO, vfs.Char, vfs.Dir, vfs.Regular, vfs.Symlink} {
		names[k.Name()] = true
		if got := one[int16](t, conn, "SELECT pgbox.kind($1)", k.Name()); got != int16(k) {
			t.Errorf("%s is %d, not %d", k.Name(), got, k)
		}
	}
	if got := one[int16](t, conn, "SELECT pgbox.kind('whiteout')"); got != 0 {
		t.Errorf("a whiteout is of kind %d", got)
	}
	if got := one[int32](t, conn, "SELECT pgbox.chunk_size()"); got != gatewaytree.ChunkSize {
		t.Errorf("a chunk has %d bytes, in the gateway %d", got, gatewaytree.ChunkSize)
	}
	named := regexp.MustCompile(`pgbox\.kind\('(\w+)'\)`)
	number := regexp.MustCompile(`kind\)? (=|<>|:=|IS DISTINCT FROM) \d|\b6553[56]\b`)
	found := 0
	for _, f := range functions(t, conn) {
		for _, m := range named.FindAllStringSubmatch(f.Source, -1) {
			found++
			if !names[m[1]] {
				t.Errorf("%s.%s: there is no kind %s", f.Schema, f.Name, m[1])
			}
		}
		if m := number.FindString(f.Source); m != "" && f.Name != "chunk_size" {
			t.Errorf("%s.%s has a number where a name belongs: %s", f.Schema, f.Name, m)
		}
	}
	if found < 100 {
		t.Fatalf("%d kinds: the expression is wrong", found)
	}
}
