package utillinux

import (
	"context"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var ulSpec = getopt.New("it:T:",
	"terminal:=t indicated=i").WithLetters().WithVersion("from util-linux 2.38.1").WithUsage("[options] [<file> ...]",
	"Do underlining.")

// ulMode is how a character is to look.
type ulMode uint8

const (
	ulAlternate ulMode = 1 << iota
	ulSuper
	ulSub
	ulUnderline
	ulBold
)

// ulCell is a column of a line; width 0 is the second half of a wide character.
type ulCell struct {
	char  rune
	mode  ulMode
	width int
}

type ulRun struct {
	p         *proc.Process
	caps      map[string]string
	indicated bool
	cells     []ulCell
	column    int
	mode      ulMode
	half      int
}

func ul(_ context.Context, p *proc.Process) int {
	opts, args := ulSpec.Parse(p)
	r := &ulRun{p: p}
	name := p.Getenv("TERM")
	for _, o := range opts {
		switch o.Key {
		case "t", "T":
			name = o.Value
		case "i":
			r.indicated = true
		}
	}
	t := loadTerminals()[name]
	if t == nil {
		if name == "" {
			p.Errorf("trouble reading terminfo")
		} else {
			p.Errorf("terminal `%s' is not known, defaulting to `dumb'", name)
		}
		t = loadTerminals()["dumb"]
	}
	r.caps = t.strings
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, a := range args {
		if err := program.WithInput(p, a, r.file); err != nil {
			p.Errorf("cannot open %s: %s", a, proc.Strerror(err))
			return 1
		}
	}
	return 0
}

func (r *ulRun) file(_ string, in io.Reader) error {
	l := program.NewLineReader(r.p, in, '\n')
	defer l.Close()
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		r.p.Tick(1 + len(line)>>4)
		r.read(line)
	}
	return l.Err
}

func (r *ulRun) read(line []byte) {
	ended := false
	for i := 0; i < len(line); {
		c, n := utf8.DecodeRune(line[i:])
		i += n
		switch c {
		case '\b':
			r.column = max(r.column-1, 0)
		case '\t':
			r.column = r.column&^7 + 8
		case '\r':
			r.column = 0
		case '\n':
			r.flush()
			ended = true
		case '\f':
			r.flush()
			r.p.Out.WriteByte('\f')
		case colShift:
			r.mode |= ulAlternate
		case colShiftIn:
			r.mode &^= ulAlternate
		case colEscape:
			if i < len(line) {
				switch line[i] {
				case '8':
					if r.half--; r.half < 0 {
						r.mode, r.half = r.mode|ulSuper, -1
					} else {
						r.mode &^= ulSub
					}
				case '9':
					if r.half++; r.half > 0 {
						r.mode, r.half = r.mode|ulSub, 1
					} else {
						r.mode &^= ulSuper
					}
				}
				i++
			}
		case '_':
			if cell := r.cell(r.column); cell.char != 0 {
				for w := max(cell.width, 1); w > 0; w-- {
					r.cell(r.column).mode |= ulUnderline | r.mode
					r.column++
				}
			} else {
				cell.char, cell.width = '_', 1
				r.column++
			}
		default:
			r.put(c)
		}
	}
	if !ended {
		r.flush()
	}
}

func (r *ulRun) cell(column int) *ulCell {
	for len(r.cells) <= column {
		r.p.Hold(16)
		r.cells = append(r.cells, ulCell{})
	}
	return &r.cells[column]
}

func (r *ulRun) put(c rune) {
	if !unicode.IsPrint(c) {
		return
	}
	w := max(runewidth.RuneWidth(c), 1)
	r.cell(r.column + w - 1)
	cell := r.cell(r.column)
	switch {
	case c == ' ' && cell.char != 0:
	case c == ' ':
	case cell.char == 0:
		cell.char, cell.mode, cell.width = c, r.mode, w
		for k := 1; k < w; k++ {
			*r.cell(r.column + k) = ulCell{char: -1, mode: r.mode}
		}
	case cell.char == '_':
		mode := cell.mode | ulUnderline | r.mode
		for k := range w {
			*r.cell(r.column + k) = ulCell{char: -1, mode: mode}
		}
		cell.char, cell.width = c, w
	case cell.char == c:
		for k := range w {
			r.cell(r.column + k).mode |= ulBold | r.mode
		}
	default:
		w = max(cell.width, 1)
		for k := range w {
			r.cell(r.column + k).mode = r.mode
		}
	}
	r.column += w
}

func (r *ulRun) flush() {
	now := ulMode(0)
	out := r.p.Out
	for _, c := range r.cells {
		if c.char < 0 {
			continue
		}
		if !r.indicated && c.mode != now {
			r.change(now, c.mode)
			now = c.mode
		}
		if c.char == 0 {
			out.WriteByte(' ')
		} else {
			out.WriteRune(c.char)
		}
	}
	r.change(now, 0)
	out.WriteByte('\n')
	if r.indicated {
		r.indicate()
	}
	r.p.Release(16 * len(r.cells))
	r.cells, r.column, r.mode = r.cells[:0], 0, r.mode&ulAlternate
}

// indicate shows the modes of a line by a line of its own.
func (r *ulRun) indicate() {
	marks := map[ulMode]byte{0: ' ', ulUnderline: '_', ulBold: '!', ulAlternate: 'g', ulSuper: '^', ulSub: 'v'}
	line := make([]byte, 0, len(r.cells))
	end := 0
	for _, c := range r.cells {
		m, ok := marks[c.mode]
		if !ok {
			m = 'X'
		}
		if line = append(line, m); m != ' ' {
			end = len(line)
		}
	}
	if end > 0 {
		r.p.Out.Write(append(line[:end], '\n'))
	}
}

func (r *ulRun) change(from, to ulMode) {
	capability := func(names ...string) {
		for _, n := range names {
			if s := r.caps[n]; s != "" {
				r.p.Out.WriteString(expandTerminfo(s, [9]int{}))
				return
			}
		}
	}
	if r.indicated || from == to {
		return
	}
	switch from {
	case 0:
	case ulUnderline:
		capability("rmul")
	default:
		capability("sgr0")
	}
	switch to {
	case 0:
	case ulAlternate:
		capability("rev", "smso")
	case ulSuper, ulSub:
		capability("dim", "smso")
	case ulUnderline:
		capability("smul")
	case ulBold:
		capability("bold", "rev", "smso")
	default:
		capability("smso")
	}
}
