package regex

import "bytes"

// needle is a string that is looked for in text by the byte of it that is rarest there; bytes.Index goes by the first.
type needle struct {
	text  []byte
	rare  int  // of text: the byte to look for
	known bool // rare was chosen
	plain int  // bytes to search with bytes.Index, since no byte was rare
}

const (
	needleLeast  = 64       // in less bytes.Index is as good
	needleSample = 4 << 10  // how much of a text tells which bytes are rare in it
	needlePause  = 64 << 10 // what is searched the plain way before another sample is taken
)

// sample chooses the byte by what b has of each.
func (n *needle) sample(b []byte) {
	var count [256]int
	for _, c := range b[:needleSample] {
		count[c]++
	}
	n.rare, n.known = 0, true
	for i, c := range n.text {
		if count[c] < count[n.text[n.rare]] {
			n.rare = i
		}
	}
}

// index is where the first n.text of b is, -1 when there is none.
func (n *needle) index(b []byte) int {
	if len(n.text) < 2 || len(b) < needleLeast || n.plain > 0 || !n.known && len(b) < needleSample {
		i := bytes.Index(b, n.text)
		if n.plain -= i; i < 0 {
			n.plain -= len(b)
		}
		return i
	}
	if !n.known {
		n.sample(b)
	}
	rare, last := n.text[n.rare], len(b)-len(n.text)
	for at, misses := 0, 0; at <= last; {
		i := bytes.IndexByte(b[at+n.rare:last+n.rare+1], rare)
		if i < 0 {
			return -1
		}
		if at += i; bytes.Equal(b[at:at+len(n.text)], n.text) {
			return at
		}
		at++
		if misses++; misses > 16+at/32 {
			n.known, n.plain = false, needlePause
			if i = bytes.Index(b[at:], n.text); i < 0 {
				return -1
			}
			return at + i
		}
	}
	return -1
}
