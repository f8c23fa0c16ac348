package extra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var batSpec = getopt.New("Apl:H:dnfm:r:LuPVh",
	"show-all=A nonprintable-notation: plain=p language:=l highlight-line:=H file-name: diff=d diff-context: tabs: wrap: terminal-width: number=n color: italic-text: decorations: force-colorization=f "+
		"paging: pager: map-syntax:=m ignored-suffix: theme: list-themes style: line-range:=r list-languages=L unbuffered=u no-paging=P no-pager=P no-config no-custom-assets config-file config-dir cache-dir diagnostic help=h version=V").
	WithStatus(2).WithHint("\nUSAGE:\n    %[1]s [OPTIONS] [FILE]...\n\nFor more information try --help").WithVersion("0.22.1").WithUsage("[OPTIONS] [FILE]...", "A cat(1) clone, without wings: no colours.")

// batRange are lines, from 1; to is 0 for the last.
type batRange struct{ from, to int }

type batRun struct {
	p                                       *proc.Process
	showAll, decorated                      bool
	numbers, grid, header, size, rule, snip bool
	tabs, width                             int
	ranges                                  []batRange
	names                                   []string // of --file-name
	shown                                   int
}

// bat is cat with line numbers and frames, when they are asked for: there is no terminal to colour.
func bat(_ context.Context, p *proc.Process) int {
	opts, args := batSpec.Parse(p)
	r := &batRun{p: p, tabs: 4, width: 80, numbers: true, grid: true, header: true}
	style := p.Getenv("BAT_STYLE")
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Args = []string{p.Args[0], "--help"}
			batSpec.Parse(p)
		case "V":
			p.Out.WriteString("bat 0.22.1\n")
			return 0
		case "A":
			r.showAll = true
		case "p":
			style = "plain"
		case "n":
			style = "numbers"
		case "style":
			style = o.Value
		case "decorations":
			r.decorated = o.Value == "always"
		case "color":
			r.decorated = r.decorated || o.Value == "always"
		case "f":
			r.decorated = true
		case "tabs":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK || n > 1000 {
				p.Err.WriteString("[bat error]: must be a number: " + o.Value + "\n")
				return 1
			}
			r.tabs = int(n)
		case "terminal-width":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 || n > 10000 {
				p.Err.WriteString("[bat error]: must be an offset or number: " + o.Value + "\n")
				return 1
			}
			r.width = n
		case "r":
			one, ok := parseBatRange(o.Value)
			if !ok {
				p.Err.WriteString("\x1b[31m[bat error]\x1b[0m: invalid digit found in string\n")
				return 1
			}
			r.ranges = append(r.ranges, one)
		case "file-name":
			r.names = append(r.names, o.Value)
		case "L", "list-themes":
			p.Out.WriteString("Plain Text:txt\n")
			return 0
		}
	}
	if style != "" && style != "auto" && style != "default" {
		r.numbers, r.grid, r.header = false, false, false
		for s := range strings.SplitSeq(style, ",") {
			switch s {
			case "full":
				r.numbers, r.grid, r.header, r.size, r.snip = true, true, true, true, true
			case "auto", "default":
				r.numbers, r.grid, r.header = true, true, true
			case "plain":
			case "numbers":
				r.numbers = true
			case "grid":
				r.grid = true
			case "rule":
				r.rule = true
			case "header", "header-filename":
				r.header = true
			case "header-filesize":
				r.size = true
			case "snip":
				r.snip = true
			case "changes":
			default:
				p.Err.WriteString("error: Invalid value \"" + style + "\" for '--style <components>': Unknown style, '" + s +
					"'\n\nFor more information try --help\n")
				return 2
			}
		}
	}
	r.rule = r.rule && !r.grid
	if len(args) == 0 {
		args = []string{"-"}
	}
	status := 0
	for i, a := range args {
		err := r.file(i, a)
		if err == nil {
			continue
		}
		status = 1
		p.Out.Flush()
		e, _ := vfs.Of(err)
		switch {
		case errors.Is(err, vfs.EISDIR):
			fmt.Fprintf(p.Err, "\x1b[31m[bat error]\x1b[0m: '%s' is a directory.\n", a)
		default:
			fmt.Fprintf(p.Err, "\x1b[31m[bat error]\x1b[0m: '%s': %s (os error %d)\n", a, proc.Strerror(err), int(e))
		}
	}
	return status
}

// parseBatRange reads 30:40, :40, 40:, 40 and 30:+10.
func parseBatRange(s string) (r batRange, ok bool) {
	from, to, isRange := strings.Cut(s, ":")
	var err error
	if !isRange {
		r.from, err = strconv.Atoi(from)
		r.to = r.from
		return r, err == nil
	}
	if r.from = 1; from != "" {
		if r.from, err = strconv.Atoi(from); err != nil {
			return r, false
		}
	}
	if to == "" {
		return r, from != ""
	}
	rest, relative := strings.CutPrefix(to, "+")
	if r.to, err = strconv.Atoi(rest); err != nil {
		return r, false
	}
	if relative {
		r.to += r.from
	}
	return r, r.to >= r.from
}

func (r *batRun) wanted(line int) bool {
	for _, w := range r.ranges {
		if line >= w.from && (w.to == 0 || line <= w.to) {
			return true
		}
	}
	return len(r.ranges) == 0
}

func (r *batRun) file(index int, name string) error {
	return program.WithInput(r.p, name, func(_ string, in io.Reader) error {
		if f, ok := in.(vfs.File); ok {
			if st, err := f.Stat(); err == nil && st.IsDir() {
				return vfs.EISDIR
			}
		}
		if !r.decorated && !r.showAll && len(r.ranges) == 0 {
			return program.ReadBlocks(r.p, in, func(b []byte) { r.p.Out.Write(b) })
		}
		size := int64(-1)
		if f, ok := in.(vfs.File); ok {
			if st, err := f.Stat(); err == nil && st.Kind == vfs.Regular {
				size = st.Size
			}
		}
		title := "File: " + name
		if name == "-" {
			title = "STDIN"
		}
		if index < len(r.names) {
			title = "File: " + r.names[index]
		}
		l := program.NewLineReader(r.p, in, '\n')
		defer l.Close()
		n := 0
		line, ok := l.Next()
		binary := ok && bytes.IndexByte(line[:min(len(line), 1024)], 0) >= 0 && !r.showAll
		if r.decorated {
			if !ok {
				title += "   <EMPTY>"
			} else if binary {
				title += "   <BINARY>"
			}
			r.top(title, size, ok && !binary)
			if binary {
				ok = false
			}
		}
		for ; ok; line, ok = l.Next() {
			n++
			r.p.Tick(1)
			if r.wanted(n) {
				r.line(n, line)
			}
		}
		if r.decorated && r.grid {
			r.border("┴")
		}
		return l.Err
	})
}

// margin is how wide the line numbers are.
func (r *batRun) margin() int {
	if r.numbers {
		return 7
	}
	return 0
}

func (r *batRun) border(cross string) {
	bar := strings.Repeat("─", r.width)
	if m := r.margin(); m > 0 {
		bar = strings.Repeat("─", m) + cross + strings.Repeat("─", max(r.width-m-1, 0))
	}
	r.p.Out.WriteString(bar + "\n")
}

func (r *batRun) top(title string, size int64, content bool) {
	if r.shown++; r.shown > 1 && !r.grid {
		if r.rule {
			r.p.Out.WriteString(strings.Repeat("─", r.width) + "\n")
		} else if r.header {
			r.p.Out.WriteByte('\n')
		}
	}
	if r.grid {
		r.border("┬")
	}
	before := ""
	if r.grid && r.numbers {
		before = strings.Repeat(" ", r.margin()) + "│ "
	}
	if r.header {
		r.p.Out.WriteString(before + title + "\n")
	}
	if r.size {
		text := "-"
		if size >= 0 {
			text = fmt.Sprintf("%d B", size)
			for k, unit := 1, "KMGT"; size >= 1024 && k <= len(unit); k++ {
				text = fmt.Sprintf("%.1f %cB", float64(size)/float64(int64(1)<<(10*k)), unit[k-1])
				if size>>(10*k) < 1024 {
					break
				}
			}
		}
		r.p.Out.WriteString(before + "Size: " + text + "\n")
	}
	if r.grid && (r.header || r.size) && content {
		r.border("┼")
	}
}

func (r *batRun) line(n int, raw []byte) {
	line := raw
	if r.showAll {
		r.p.Hold(8 * len(raw))
		defer r.p.Release(8 * len(raw))
		line = batVisible(raw, max(r.tabs, 1))
	}
	if !r.decorated {
		r.p.Out.Write(line)
		return
	}
	if r.numbers {
		fmt.Fprintf(r.p.Out, "%4d ", n)
		if r.grid {
			r.p.Out.WriteString("  │ ")
		}
	}
	text := string(program.Chomp(line, '\n'))
	if r.tabs > 0 && (r.numbers || r.grid || r.header || r.size || r.rule) && strings.Contains(text, "\t") {
		column := 0
		var b strings.Builder
		for _, c := range text {
			if c != '\t' {
				b.WriteRune(c)
				column += runewidth.RuneWidth(c)
				continue
			}
			gap := r.tabs - column%r.tabs
			b.WriteString(strings.Repeat(" ", gap))
			column += gap
		}
		text = b.String()
	}
	before := 0
	if r.numbers {
		if before = 5; r.grid {
			before = 9
		}
	}
	room := max(r.width-before, 1)
	column := 0
	for i, c := range text {
		w := runewidth.RuneWidth(c)
		if column+w > room && i > 0 {
			column = 0
			r.p.Out.WriteByte('\n')
			switch {
			case r.numbers && r.grid:
				r.p.Out.WriteString("       │ ")
			case r.numbers:
				r.p.Out.WriteString("     ")
			}
		}
		column += w
		r.p.Out.WriteRune(c)
	}
	r.p.Out.WriteByte('\n')
}

// batVisible shows blanks, ends of lines and control characters.
func batVisible(line []byte, tabs int) []byte {
	var b bytes.Buffer
	column := 0
	for len(line) > 0 {
		c, n := utf8.DecodeRune(line)
		switch {
		case c == ' ':
			b.WriteString("·")
			column++
		case c == '\t':
			gap := tabs - column%tabs
			if gap == 1 {
				b.WriteString("↹")
			} else {
				b.WriteString("├" + strings.Repeat("─", gap-2) + "┤")
			}
			column += gap
		case c == '\n':
			b.WriteString("␊\n")
		case c == '\r':
			b.WriteString("␍")
			column++
		case c == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "\\x%02X", line[0])
			column += 4
		case c == 0 || c == 7 || c == 8 || c == 27:
			b.WriteRune('␀' + c)
			column++
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "\\u{%x}", c)
			column++
		default:
			b.WriteByte(line[0])
			column++
		}
		line = line[n:]
	}
	return b.Bytes()
}
