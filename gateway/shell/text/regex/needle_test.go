package regex

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestNeedle compares with bytes.Index in texts whose common bytes change, so that what was rare is not any more.
func TestNeedle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	plain := 0
	for range 300 {
		var b []byte
		for len(b) < 20_000 {
			letters := 1 + r.IntN(4)
			for range r.IntN(9000) {
				b = append(b, "abcd"[r.IntN(letters)])
			}
		}
		text := make([]byte, 1+r.IntN(9))
		for i := range text {
			text[i] = "abcd"[r.IntN(4)]
		}
		n := needle{text: text}
		for at := 0; at <= len(b); {
			got, want := n.index(b[at:]), bytes.Index(b[at:], text)
			if got != want {
				t.Fatalf("%q at %d: %d, not %d", text, at, got, want)
			}
			if n.plain > 0 {
				plain++
			}
			if at += got + 1; got < 0 {
				break
			}
		}
	}
	if plain == 0 {
		t.Error("no text had only common bytes")
	}
}

func TestLineStart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		b := make([]byte, r.IntN(60))
		for i := range b {
			b[i] = "a\n\x0b\x8a\x00\xff"[min(r.IntN(12), 5)]
		}
		for least := range len(b) {
			for pos := least; pos < len(b); pos++ {
				if got, want := lineStart(b, least, pos), least+bytes.LastIndexByte(b[least:pos], '\n')+1; got != want {
					t.Fatalf("%q from %d at %d: %d, not %d", b, least, pos, got, want)
				}
			}
		}
	}
}
