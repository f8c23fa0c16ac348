package archive_test

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/text/archive"
)

func inflate(t *testing.T, packed []byte) []byte {
	t.Helper()
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What Deflate makes of any data is read back as that data, and ends after it.
func TestDeflateRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		data := make([]byte, r.IntN(1+1<<(2+round%16)))
		letters := 1 + r.IntN(255)
		for i := range data {
			data[i] = byte(r.IntN(letters))
			if i > 300 && r.IntN(20) == 0 {
				copy(data[i:], data[r.IntN(i-259):][:min(258, len(data)-i)])
			}
		}
		for level := 1; level <= 9; level++ {
			packed := archive.Deflate(data, level, func(int) {})
			if got := inflate(t, packed); !bytes.Equal(got, data) {
				t.Fatalf("round %d, level %d: %d bytes come back as %d others", round, level, len(data), len(got))
			}
		}
	}
}

func FuzzDeflate(f *testing.F) {
	f.Add([]byte("hello hello hello"), byte(6))
	f.Add(bytes.Repeat([]byte("ab"), 40000), byte(1))
	f.Fuzz(func(t *testing.T, data []byte, level byte) {
		if got := inflate(t, archive.Deflate(data, int(level%9)+1, func(int) {})); !bytes.Equal(got, data) {
			t.Fatalf("%d bytes come back as %d others", len(data), len(got))
		}
	})
}
