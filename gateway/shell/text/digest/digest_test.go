package digest_test

import (
	"bytes"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/text/digest"
)

// TestBlake2b compares with the vectors of RFC 7693, appendix A, and checks that writes may be split.
func TestBlake2b(t *testing.T) {
	h := digest.NewBlake2b(512)
	for _, c := range "abc" {
		_, _ = h.Write([]byte(string(c)))
	}
	want := []byte{0xBA, 0x80, 0xA5, 0x3F, 0x98, 0x1C, 0x4D, 0x0D}
	if got := h.Sum(nil)[:8]; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
