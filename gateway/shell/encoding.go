package shell

import (
	"strings"
	"unicode/utf8"
)

// encoding stands for the bytes of a text that are no UTF-8, which the parser refuses, and for carriage returns, which
// it skips: each is read as a rune of a block that the text does not use, and becomes itself again in the tree. Zero
// means that there are none.
type encoding rune

// encode finds an unused block of private runes and puts it in the place of the stray bytes.
func encode(src string) (string, encoding) {
	if utf8.ValidString(src) && strings.IndexByte(src, '\r') < 0 {
		return src, 0
	}
	e := unusedBlock(src)
	var b strings.Builder
	for i := 0; i < len(src); {
		r, w := utf8.DecodeRuneInString(src[i:])
		if r == utf8.RuneError && w == 1 || r == '\r' {
			b.WriteRune(rune(e) + rune(src[i]))
		} else {
			b.WriteString(src[i : i+w])
		}
		i += w
	}
	return b.String(), e
}

// unusedBlock is an encoding that nothing in a text looks like.
func unusedBlock(src string) encoding {
	used := map[rune]bool{}
	for _, r := range src {
		if r >= 0xf0000 {
			used[r>>8] = true
		}
	}
	block := rune(0xf00)
	for used[block] && block < 0x10ff {
		block++
	}
	return encoding(block << 8)
}

// decode gives the stray bytes back.
func (e encoding) decode(s string) string {
	if e == 0 || strings.IndexByte(s, byte(0xf0|e>>18)) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r>>8 == rune(e)>>8 {
			b = append(b, byte(r))
		} else {
			b = append(b, s[i:i+w]...)
		}
		i += w
	}
	return string(b)
}
