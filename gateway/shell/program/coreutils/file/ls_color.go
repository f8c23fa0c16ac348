package file

import (
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// palette is what LS_COLORS says over GNU's built-in table.
type palette struct {
	codes    map[string]string
	suffixes []colorSuffix // the last that matches counts
	// ofTarget: a link looks like what it leads to.
	ofTarget bool
}

type colorSuffix struct{ suffix, code string }

var paletteDefaults = map[string]string{
	"lc": "\x1b[", "rc": "m", "rs": "0", "di": "01;34", "ln": "01;36", "pi": "33", "so": "01;35", "bd": "01;33",
	"cd": "01;33",
	"ex": "01;32", "do": "01;35", "su": "37;41", "sg": "30;43", "st": "37;44", "ow": "34;42", "tw": "30;42",
}

// paletteKeys are the keys without a default.
var paletteKeys = []string{"ec", "no", "fi", "or", "mi", "ca", "mh", "cl"}

// builtinPalette is GNU's table.
var builtinPalette = &palette{}

// newPalette reads LS_COLORS; nil after a message when it cannot be read, which turns colours off.
func newPalette(p *proc.Process) *palette {
	c := &palette{codes: map[string]string{}}
	for s := p.Getenv("LS_COLORS"); s != ""; {
		if s[0] == ':' {
			s = s[1:]
			continue
		}
		key, rest, ok := "", "", false
		switch {
		case s[0] == '*':
			key, rest, ok = colorText(s[1:], "=")
			key = "*" + key
		case len(s) > 2 && s[2] == '=':
			key, rest, ok = s[:2], s[2:], true
			if _, known := paletteDefaults[key]; !known && !slices.Contains(paletteKeys, key) {
				p.Errorf("unrecognized prefix: %s", program.Quote(key))
				ok = false
			}
		}
		var code string
		if ok && rest != "" {
			code, rest, ok = colorText(rest[1:], ":")
		}
		if !ok {
			p.Errorf("unparsable value for LS_COLORS environment variable")
			return nil
		}
		s = rest
		switch {
		case key[0] == '*':
			c.suffixes = append(c.suffixes, colorSuffix{key[1:], code})
		case key == "ln" && code == "target":
			c.ofTarget = true
		default:
			c.codes[key] = code
		}
	}
	return c
}

// colorText reads a text with its escapes up to one of the characters in end, or, for a code, the end.
func colorText(s, end string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case strings.IndexByte(end, c) >= 0:
			return b.String(), s[i:], true
		case c == '^' && i+1 < len(s) && (s[i+1] >= '@' && s[i+1] <= '~' || s[i+1] == '?'):
			i++
			if s[i] == '?' {
				b.WriteByte(0x7f)
			} else {
				b.WriteByte(s[i] & 0x1f)
			}
		case c == '\\' && i+1 < len(s):
			i++
			if n := strings.IndexByte("abefnrtv?_", s[i]); n >= 0 {
				b.WriteByte("\a\b\x1b\f\n\r\t\v\x7f "[n])
			} else if s[i] >= '0' && s[i] <= '7' {
				v := byte(0)
				for ; i < len(s) && s[i] >= '0' && s[i] <= '7'; i++ {
					v = v<<3 | s[i] - '0'
				}
				b.WriteByte(v)
				i--
			} else {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", end == ":"
}

func (c *palette) code(key string) string {
	if v, ok := c.codes[key]; ok {
		return v
	}
	return paletteDefaults[key]
}

// shows reports whether a key has a colour that can be seen.
func (c *palette) shows(key string) bool {
	v := c.code(key)
	return v != "" && v != "0" && v != "00"
}

// showsTargets reports whether long listings colour what links lead to.
func (c *palette) showsTargets() bool { return c.ofTarget || c.shows("or") || c.shows("mi") }

// of is the colour of a file, false for none.
func (c *palette) of(name string, st vfs.Stat) (string, bool) {
	key := ""
	switch st.Kind {
	case vfs.Dir:
		sticky, open := st.Mode&program.ModeSticky != 0, st.Mode&0o002 != 0
		switch {
		case sticky && open && c.shows("tw"):
			key = "tw"
		case open && c.shows("ow"):
			key = "ow"
		case sticky && c.shows("st"):
			key = "st"
		default:
			key = "di"
		}
	case vfs.Symlink:
		key = "ln"
	case vfs.FIFO:
		key = "pi"
	case vfs.Char:
		key = "cd"
	default:
		switch {
		case st.Mode&program.ModeSetuid != 0 && c.shows("su"):
			key = "su"
		case st.Mode&program.ModeSetgid != 0 && c.shows("sg"):
			key = "sg"
		case st.Mode&0o111 != 0 && c.shows("ex"):
			key = "ex"
		case st.Nlink > 1 && c.shows("mh"):
			key = "mh"
		default:
			for _, s := range slices.Backward(c.suffixes) {
				if strings.HasSuffix(name, s.suffix) {
					return s.code, true
				}
			}
			key = "fi"
		}
	}
	if v, ok := c.codes[key]; ok {
		return v, true
	}
	v, ok := paletteDefaults[key]
	return v, ok
}

// paintFile colours the name of a file.
func (l *lister) paintFile(text string, f *lsFile) string {
	if !l.color {
		return text
	}
	c := l.palette
	if f.st.Kind != vfs.Symlink {
		code, ok := c.of(f.name, f.st)
		return l.paint(text, code, ok)
	}
	switch {
	case !f.tok && c.shows("or"):
		return l.paint(text, c.code("or"), true)
	case !c.ofTarget:
		return l.paint(text, c.code("ln"), true)
	case f.tok:
		code, ok := c.of(f.name, f.tst)
		return l.paint(text, code, ok)
	}
	return text
}

// paintTarget colours the name that a link leads to.
func (l *lister) paintTarget(text string, f *lsFile) string {
	if !l.color || !l.palette.showsTargets() {
		return text
	}
	if f.tok {
		code, ok := l.palette.of(f.target, f.tst)
		return l.paint(text, code, ok)
	}
	for _, key := range []string{"mi", "or"} {
		if l.palette.shows(key) {
			return l.paint(text, l.palette.code(key), true)
		}
	}
	return text
}

func (l *lister) paint(text, code string, ok bool) string {
	if !ok {
		return text
	}
	left, right := l.palette.code("lc"), l.palette.code("rc")
	end, ok := l.palette.codes["ec"]
	if !ok {
		end = left + l.palette.code("rs") + right
	}
	lead := ""
	if !l.colored {
		l.colored = true
		lead = end
	}
	return lead + left + code + right + text + end
}
