package text

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var wcSpec = getopt.New("clLmw", "bytes=c chars=m lines=l words=w files0-from: max-line-length=L").
	WithUsage("[OPTION]... [FILE]...",
		"Print newline, word, and byte counts for each FILE, and a total line if more than one FILE is specified.")

type counts struct{ lines, words, chars, bytes, width int64 }

type wcRun struct {
	p                                 *proc.Process
	lines, words, chars, bytes, width bool
	column                            int
}

func wc(_ context.Context, p *proc.Process) int {
	opts, args := wcSpec.Parse(p)
	w := &wcRun{p: p}
	from, hasFrom := "", false
	for _, o := range opts {
		switch o.Key {
		case "c":
			w.bytes = true
		case "l":
			w.lines = true
		case "L":
			w.width = true
		case "m":
			w.chars = true
		case "w":
			w.words = true
		case "files0-from":
			from, hasFrom = o.Value, true
		}
	}
	if !w.bytes && !w.lines && !w.width && !w.chars && !w.words {
		w.lines, w.words, w.bytes = true, true, true
	}
	if hasFrom {
		if len(args) > 0 {
			p.Errorf("extra operand %s", program.QuoteName(args[0]))
			p.Err.WriteString("file operands cannot be combined with --files0-from\n")
			wcSpec.Hint(p)
		}
		var ok bool
		if args, ok = program.FilesFrom(p, from, program.QuoteName, "cannot open %s for reading: %s"); !ok {
			return 1
		}
		if len(args) == 0 {
			return 0
		}
	}
	named := len(args) > 0
	if !named {
		args = []string{"-"}
	}
	w.column = w.columnWidth(args)
	if hasFrom {
		// The names of a pipe are not known before the first file is counted.
		if st, err := p.Stat(from); from == "-" || err == nil && st.Kind != vfs.Regular {
			w.column = 1
		}
	}
	var total counts
	status := 0
	for _, name := range args {
		shown := name
		if !named {
			shown = ""
		}
		c, counted, err := w.count(name)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			status = 1
		}
		if counted {
			w.print(c, shown)
		}
		total.lines += c.lines
		total.words += c.words
		total.chars += c.chars
		total.bytes += c.bytes
		total.width = max(total.width, c.width)
	}
	if len(args) > 1 {
		w.print(total, "total")
	}
	return status
}

// columnWidth follows GNU: as many digits as the sum of the sizes has, at least seven when some file has none.
func (w *wcRun) columnWidth(args []string) int {
	shown := 0
	for _, on := range []bool{w.lines, w.words, w.chars, w.bytes, w.width} {
		if on {
			shown++
		}
	}
	if len(args) == 1 && shown == 1 {
		return 1
	}
	width, sum := 1, int64(0)
	for _, name := range args {
		var st vfs.Stat
		var err error
		if name == "-" {
			if f, ok := w.p.Stdin.(interface{ Stat() (vfs.Stat, error) }); ok {
				st, err = f.Stat()
			} else {
				st.Kind = vfs.FIFO
			}
		} else {
			st, err = w.p.Stat(name)
		}
		switch {
		case err != nil:
		case st.Kind == vfs.Regular:
			sum += st.Size
		default:
			width = 7
		}
	}
	return max(width, len(strconv.FormatInt(sum, 10)))
}

func (w *wcRun) print(c counts, name string) {
	var b []byte
	column := func(on bool, n int64) {
		if !on {
			return
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		s := strconv.FormatInt(n, 10)
		for k := w.column - len(s); k > 0; k-- {
			b = append(b, ' ')
		}
		b = append(b, s...)
	}
	column(w.lines, c.lines)
	column(w.words, c.words)
	column(w.chars, c.chars)
	column(w.bytes, c.bytes)
	column(w.width, c.width)
	if name != "" {
		b = append(b, ' ')
		if strings.Contains(name, "\n") {
			name = program.QuoteColon(name)
		}
		b = append(b, name...)
	}
	w.p.Out.Write(append(b, '\n'))
}

func (w *wcRun) count(name string) (c counts, counted bool, err error) {
	r, err := w.p.OpenInput(name)
	if err != nil {
		return c, false, err
	}
	defer r.Close()
	if w.bytes && !w.lines && !w.words && !w.chars && !w.width {
		// The size of a file is known without reading it.
		if f, ok := r.(vfs.File); ok && program.IsRegular(f) {
			if st, err := f.Stat(); err == nil {
				if at, err := f.Seek(0, io.SeekCurrent); err == nil {
					c.bytes = max(0, st.Size-at)
					return c, true, nil
				}
			}
		}
	}
	if !w.words && !w.chars && !w.width {
		err = program.ReadBlocks(w.p, r, func(b []byte) {
			c.bytes += int64(len(b))
			if w.lines {
				c.lines += int64(bytes.Count(b, []byte{'\n'}))
			}
		})
		return c, true, err
	}
	s := wcScanner{ascii: program.ByteLocale(w.p)}
	err = program.ReadBlocks(w.p, r, s.scan)
	s.finish()
	return s.counts, true, err
}

type wcScanner struct {
	counts
	partial []byte // the beginning of a character that the next block goes on with
	inWord  bool
	pos     int64
	ascii   bool // every byte is a character, and those above ASCII are not printed
}

// Classes of ASCII: what a byte does to words and columns.
const (
	wcOther = iota // neither printed nor a space
	wcWord
	wcSpace
	wcTab
	wcLine // ends a line: \n \r \f
	wcVTab
	wcHigh
)

var wcClass = func() (t [256]uint8) {
	for c := range 256 {
		switch {
		case c >= 0x80:
			t[c] = wcHigh
		case c == ' ':
			t[c] = wcSpace
		case c == '\t':
			t[c] = wcTab
		case c == '\n' || c == '\r' || c == '\f':
			t[c] = wcLine
		case c == '\v':
			t[c] = wcVTab
		case c > ' ' && c < 0x7f:
			t[c] = wcWord
		}
	}
	return t
}()

func (s *wcScanner) scan(b []byte) {
	s.bytes += int64(len(b))
	if len(s.partial) > 0 {
		// At most three bytes are carried over.
		b = append(s.partial, b...)
		s.partial = nil
	}
	lines, words, chars, pos, inWord := s.lines, s.words, s.chars, s.pos, s.inWord
	for i := 0; i < len(b); {
		c := b[i]
		switch wcClass[c] {
		case wcWord:
			if !inWord {
				inWord = true
				words++
			}
			pos++
		case wcSpace:
			inWord = false
			pos++
		case wcTab:
			inWord = false
			pos += 8 - pos%8
		case wcVTab:
			inWord = false
		case wcLine:
			inWord = false
			s.width = max(s.width, pos)
			pos = 0
			if c == '\n' {
				lines++
			}
		case wcHigh:
			if s.ascii {
				break
			}
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n <= 1 {
				if !utf8.FullRune(b[i:]) {
					s.partial = bytes.Clone(b[i:])
					i = len(b)
					continue
				}
				i++
				continue
			}
			i += n
			chars++
			switch {
			case r == 0x2060: // no space, but words end at it
				inWord = false
			case unicode.IsSpace(r) && r != 0x85:
				inWord = false
				pos++
			case unicode.IsGraphic(r):
				pos += int64(runewidth.RuneWidth(r))
				if !inWord {
					inWord = true
					words++
				}
			}
			continue
		}
		chars++
		i++
	}
	s.lines, s.words, s.chars, s.pos, s.inWord = lines, words, chars, pos, inWord
}

func (s *wcScanner) finish() { s.width = max(s.width, s.pos) }
