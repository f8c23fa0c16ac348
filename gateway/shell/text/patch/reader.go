package patch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

// Format is the kind of diff.
type Format uint8

// The formats of a part.
const (
	Any Format = iota
	Unified
	Context
	Normal
	Ed
	Git // extended headers and no hunks
)

// Name is a file name of a header.
type Name struct {
	Path  string // as written
	Stamp string // what follows it, with the tab before
	Epoch bool   // the time is 1970-01-01 00:00 or the name is /dev/null: there is no such file
	Time  time.Time
}

// Part is the patch of one file.
type Part struct {
	Format           Format
	Old, New         Name
	Index            string
	OldGone, NewGone int // 1: a hunk is empty on that side, 2: there is no file on that side
	OldMode, NewMode uint32
	Rename, Copy     bool
	Git              bool
	Indent           int
	CR               bool // lines of the patch end in CR LF
	Start            int  // line of the first hunk
	Lead             [][]byte
}

// Reader walks over a patch.
type Reader struct {
	lines  [][]byte
	at     int
	format Format
	binary bool
	part   *Part

	// Truncated is called when the last line is read and lacks its newline.
	Truncated func()
}

// Error is a patch that cannot be read.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func fail(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// NewReader reads the patch data; format restricts what counts as one. binary keeps carriage returns.
func NewReader(data []byte, format Format, binary bool) *Reader {
	return &Reader{format: format, binary: binary, lines: Split(data)}
}

// reached tells of an incomplete last line, once.
func (r *Reader) reached(i int) {
	if l := r.lines[i]; i == len(r.lines)-1 && l[len(l)-1] != '\n' && r.Truncated != nil {
		r.Truncated()
		r.Truncated = nil
	}
}

// Split cuts data into lines that keep their newlines.
func Split(data []byte) [][]byte {
	lines := make([][]byte, 0, bytes.Count(data, []byte{'\n'})+1)
	for l := range bytes.Lines(data) {
		lines = append(lines, l)
	}
	return lines
}

func indentOf(s string) int {
	n := 0
	for _, c := range []byte(s) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// command recognises the line that begins a change of a normal diff or an ed script.
func command(s string) (letter byte, ok bool) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == ',') {
		i++
	}
	if i == 0 || s[0] == ',' || i == len(s) || !strings.ContainsRune("acdi", rune(s[i])) {
		return 0, false
	}
	letter = s[i]
	for i++; i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == ','); i++ {
	}
	return letter, strings.TrimRight(s[i:], " \t\r\n") == ""
}

// Next finds the next part; nil at the end of the patch.
func (r *Reader) Next() *Part {
	p := &Part{}
	begin := r.at
	done := func(f Format, at int) *Part {
		p.Format, p.Start, p.Lead = f, at+1, r.lines[begin:at]
		r.at, r.part = at, p
		return p
	}
	allowed := func(f Format) bool { return r.format == Any || r.format == f }
	stars, ed := false, -1
	for i := begin; i < len(r.lines); i++ {
		r.reached(i)
		raw := string(r.lines[i])
		s := strings.TrimLeft(raw, " \t")
		indent := indentOf(raw)
		wasStars := stars
		stars = strings.HasPrefix(s, "********")
		header := func(n *Name, prefix string) bool {
			rest, ok := strings.CutPrefix(s, prefix)
			if ok {
				*n = parseName(rest)
				p.CR = !r.binary && strings.HasSuffix(rest, "\r\n")
			}
			return ok
		}
		git := func(prefix string) (string, bool) {
			v, ok := strings.CutPrefix(s, prefix)
			return strings.TrimRight(v, "\r\n"), ok && p.Git
		}
		_, isCommand := command(s)
		switch {
		case !wasStars && header(&p.Old, "*** "):
		case header(&p.New, "+++ "):
		case strings.HasPrefix(s, "Index:"):
			n := parseName(s[len("Index:"):])
			p.Index = n.Path
		case strings.HasPrefix(s, "diff --git "):
			if p.Git {
				return done(Git, i)
			}
			*p = Part{Git: true}
			p.Old.Path, p.New.Path = gitNames(strings.TrimRight(s[len("diff --git "):], "\r\n"))
		case strings.HasPrefix(s, "--- "):
			n := parseName(s[4:])
			// A context diff names the new file like this, a unified one the old.
			if p.Old.Path != "" && !p.Git && i > 0 && strings.HasPrefix(strings.TrimLeft(string(r.lines[i-1]), " \t"), "*** ") {
				p.New = n
			} else {
				p.Old = n
			}
			p.CR = !r.binary && strings.HasSuffix(s, "\r\n")
		default:
			if v, ok := git("index "); ok {
				r.index(p, v)
			} else if v, ok := git("old mode "); ok {
				p.OldMode = parseMode(v)
			} else if v, ok := git("new mode "); ok {
				p.NewMode = parseMode(v)
			} else if v, ok := git("deleted file mode "); ok {
				p.OldMode, p.NewGone = parseMode(v), 2
			} else if v, ok := git("new file mode "); ok {
				p.NewMode, p.OldGone = parseMode(v), 2
			} else if v, ok := git("rename from "); ok {
				p.Rename, p.Old.Path = true, "a/"+unquote(v)
			} else if v, ok := git("rename to "); ok {
				p.Rename, p.New.Path = true, "b/"+unquote(v)
			} else if v, ok := git("copy from "); ok {
				p.Copy, p.Old.Path = true, "a/"+unquote(v)
			} else if v, ok := git("copy to "); ok {
				p.Copy, p.New.Path = true, "b/"+unquote(v)
			}
		}
		next := ""
		if i+1 < len(r.lines) {
			next = strings.TrimLeft(string(r.lines[i+1]), " \t")
		}
		switch {
		case strings.HasPrefix(s, "@@ -") && allowed(Unified):
			p.Indent = indent
			p.gone(s)
			return done(Unified, i)
		case stars && strings.HasPrefix(next, "*** ") && allowed(Context):
			p.Indent = indent
			return done(Context, i)
		case isCommand && (strings.HasPrefix(next, "< ") || strings.HasPrefix(next, "> ")) && allowed(Normal):
			p.Indent = indent
			return done(Normal, i)
		case isCommand && indent == 0 && ed < 0:
			ed = i
		}
		if ed >= 0 && allowed(Ed) {
			if s == ".\n" || r.format == Ed || isCommand && strings.Contains(s, "d") && i+1 == len(r.lines) {
				return done(Ed, ed)
			}
		}
	}
	if p.Git {
		return done(Git, len(r.lines))
	}
	r.at = len(r.lines)
	return nil
}

// gone looks which sides a unified hunk says are empty.
func (p *Part) gone(s string) {
	old, rest, _ := strings.Cut(s[len("@@ -"):], " ")
	empty := func(r string) bool { return r == "0" || strings.HasPrefix(r, "0,") }
	side := func(n Name) int {
		if n.Epoch {
			return 2
		}
		return 1
	}
	if empty(old) {
		p.OldGone = max(p.OldGone, side(p.Old))
	}
	if new, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), "+"); ok {
		if new, _, _ = strings.Cut(new, " "); empty(new) {
			p.NewGone = max(p.NewGone, side(p.New))
		}
	}
}

// emptyBlob begins git's name of the empty file.
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

// index reads "old..new mode".
func (r *Reader) index(p *Part, v string) {
	sums, mode, _ := strings.Cut(v, " ")
	old, new, _ := strings.Cut(sums, "..")
	gone := func(n *int, sum string) {
		switch {
		case len(sum) < 7:
		case strings.Trim(sum, "0") == "":
			*n = 2
		case strings.HasPrefix(emptyBlob, sum):
			*n = max(*n, 1)
		}
	}
	gone(&p.OldGone, old)
	gone(&p.NewGone, new)
	if mode != "" {
		m := parseMode(mode)
		p.OldMode, p.NewMode = m, m
	}
}

func parseMode(s string) uint32 {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 8, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

// gitNames splits "a/name b/name"; the two differ only in the first component, or are quoted.
func gitNames(s string) (old, new string) {
	if strings.HasPrefix(s, `"`) {
		if i := strings.Index(s[1:], `" `); i >= 0 {
			return unquote(s[:i+2]), unquote(s[i+3:])
		}
	}
	for i := range len(s) {
		if s[i] != ' ' {
			continue
		}
		a, b := s[:i], s[i+1:]
		if _, x, ok := strings.Cut(a, "/"); ok {
			if _, y, ok := strings.Cut(b, "/"); ok && x == y {
				return a, b
			}
		}
	}
	old, new, _ = strings.Cut(s, " ")
	return old, new
}

// parseName reads a name and the time stamp after it.
func parseName(s string) Name {
	s = strings.TrimLeft(strings.TrimRight(s, "\r\n"), " \t")
	var n Name
	rest := ""
	if strings.HasPrefix(s, `"`) {
		for i := 1; i < len(s); i++ {
			if s[i] == '\\' {
				i++
			} else if s[i] == '"' {
				n.Path, rest = unquote(s[:i+1]), s[i+1:]
				break
			}
		}
	}
	if n.Path == "" {
		end := strings.IndexAny(s, " \t")
		if tab := strings.IndexByte(s, '\t'); tab >= 0 {
			end = tab // a name may have blanks when a tab follows it
		}
		if end < 0 {
			end = len(s)
		}
		n.Path, rest = s[:end], s[end:]
	}
	n.Stamp = rest
	if t := strings.TrimSpace(rest); t != "" {
		if when, err := datetime.Parse(t, time.Unix(0, 0).UTC()); err == nil {
			n.Time = when
			n.Epoch = when.Unix() == 0
		}
	}
	if n.Path == "/dev/null" {
		n.Epoch = true
	}
	return n
}

// line returns the next line without the part's indentation; ok is false at the end.
func (r *Reader) line() (b []byte, ok bool) {
	if r.at >= len(r.lines) {
		return nil, false
	}
	b = r.lines[r.at]
	r.reached(r.at)
	r.at++
	for n := 0; n < r.part.Indent && len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == 'X'); b = b[1:] {
		if b[0] == '\t' {
			n += 8 - n%8
		} else {
			n++
		}
	}
	if n := len(b); r.part.CR && n > 1 && b[n-2] == '\r' {
		b = append(b[:n-2:n-2], '\n')
	}
	return b, true
}

func (r *Reader) malformed(b []byte) error {
	return fail("malformed patch at line %d: %s", r.at, b)
}

// noNewline takes the newline off the last line when the next one says that there is none.
func (r *Reader) noNewline(lines []Line) {
	at := r.at
	if b, ok := r.line(); ok && b[0] == '\\' {
		last := &lines[len(lines)-1]
		last.Text = bytes.TrimSuffix(last.Text, []byte{'\n'})
		return
	}
	r.at = at
}

// Hunk reads the next hunk of the part; nil when it has no more.
func (r *Reader) Hunk() (*Hunk, error) {
	switch r.part.Format {
	case Unified:
		return r.unified()
	case Context:
		return r.context()
	case Normal:
		return r.normal()
	case Ed:
		return r.ed()
	}
	return nil, nil
}

// numbers reads "start[,count]".
func numbers(s string) (start, count int, ok bool) {
	a, b, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(a)
	if err != nil || start < 0 {
		return 0, 0, false
	}
	count = 1
	if two {
		if count, err = strconv.Atoi(b); err != nil || count < 0 {
			return 0, 0, false
		}
	}
	return start, count, true
}

func (r *Reader) unified() (*Hunk, error) {
	at := r.at
	b, ok := r.line()
	s := strings.TrimRight(string(b), "\r\n")
	if !ok || !strings.HasPrefix(s, "@@ -") {
		r.at = at
		return nil, nil
	}
	h := &Hunk{Input: r.at}
	f := strings.SplitN(s[len("@@ -"):], " ", 4)
	if len(f) < 3 || !strings.HasPrefix(f[1], "+") || !strings.HasPrefix(f[2], "@@") {
		return nil, r.malformed(b)
	}
	if len(f) > 3 {
		h.Function = f[3]
	}
	var old, new int
	var ok1, ok2 bool
	h.Old, old, ok1 = numbers(f[0])
	h.New, new, ok2 = numbers(f[1][1:])
	if !ok1 || !ok2 {
		return nil, r.malformed(b)
	}
	if old == 0 {
		h.Old++ // the text goes after that line
	}
	if new == 0 {
		h.New++
	}
	for old > 0 || new > 0 {
		b, ok := r.line()
		if !ok {
			if new >= 3 {
				return nil, fail("unexpected end of file in patch")
			}
			b = []byte(" \n") // blank lines at the end were lost
		}
		l := Line{Op: ' ', Text: b}
		switch b[0] {
		case '\n':
		case ' ', '-', '+':
			l.Op, l.Text = b[0], b[1:]
		case '\t':
		default:
			return nil, r.malformed(b)
		}
		if l.Op != '+' {
			old--
		}
		if l.Op != '-' {
			new--
		}
		if old < 0 || new < 0 {
			return nil, r.malformed(b)
		}
		h.Lines = append(h.Lines, l)
		r.noNewline(h.Lines)
	}
	return h, nil
}

// starRange reads the line that begins a side of a context hunk: "*** 1,3 ****".
func starRange(b []byte, prefix string) (start, end int, ok bool) {
	s, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), prefix)
	if !ok {
		return 0, 0, false
	}
	s, _, _ = strings.Cut(s, " ")
	x, y, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(x)
	if err != nil {
		return 0, 0, false
	}
	end = start
	if two {
		if end, err = strconv.Atoi(y); err != nil {
			return 0, 0, false
		}
	}
	return start, end, true
}

func (r *Reader) context() (*Hunk, error) {
	at := r.at
	b, ok := r.line()
	if !ok || !bytes.HasPrefix(b, []byte("********")) {
		r.at = at
		return nil, nil
	}
	h := &Hunk{Input: r.at, Function: strings.TrimLeft(strings.TrimRight(string(b), "\r\n"), "*")}
	h.Function = strings.TrimPrefix(h.Function, " ")
	side := func(prefix string, change byte) (start, count int, lines []Line, err error) {
		b, ok := r.line()
		if !ok {
			return 0, 0, nil, fail("unexpected end of file in patch")
		}
		start, end, ok := starRange(b, prefix)
		if !ok || end < start {
			return 0, 0, nil, r.malformed(b)
		}
		count = end - start + 1
		if start == 0 {
			count = 0
		}
		for len(lines) < count {
			at := r.at
			b, ok := r.line()
			if !ok {
				break
			}
			if bytes.HasPrefix(b, []byte("--- ")) || bytes.HasPrefix(b, []byte("*")) {
				r.at = at
				break
			}
			l := Line{Op: ' '}
			switch {
			case len(b) == 1:
				l.Text = b
			case len(b) > 2 && b[1] == ' ' && (b[0] == ' ' || b[0] == '!' || b[0] == change):
				l.Text = b[2:]
				if b[0] != ' ' {
					l.Op = change
				}
			case b[0] == '\t':
				l.Text = b
			default:
				r.at = at
				if len(lines) > 0 {
					return 0, 0, nil, r.malformed(b)
				}
				return start, count, nil, nil
			}
			lines = append(lines, l)
			r.noNewline(lines)
		}
		return start, count, lines, nil
	}
	oldStart, oldCount, old, err := side("*** ", '-')
	if err != nil {
		return nil, err
	}
	newStart, newCount, new, err := side("--- ", '+')
	if err != nil {
		return nil, err
	}
	// A side without changes is left out: it is the context of the other.
	context := func(from []Line) []Line {
		var out []Line
		for _, l := range from {
			if l.Op == ' ' {
				out = append(out, l)
			}
		}
		return out
	}
	if len(old) == 0 && oldCount > 0 {
		old = context(new)
	}
	if len(new) == 0 && newCount > 0 {
		new = context(old)
	}
	h.Old, h.New = oldStart, newStart
	if len(old) == 0 {
		h.Old++
	}
	if len(new) == 0 {
		h.New++
	}
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && old[i].Op == '-':
			h.Lines = append(h.Lines, old[i])
			i++
		case j < len(new) && new[j].Op == '+':
			h.Lines = append(h.Lines, new[j])
			j++
		case i < len(old) && j < len(new):
			h.Lines = append(h.Lines, old[i])
			i, j = i+1, j+1
		default:
			return nil, fail("replacement text or line numbers mangled in hunk at line %d", h.Input)
		}
	}
	return h, nil
}

func (r *Reader) normal() (*Hunk, error) {
	at := r.at
	b, ok := r.line()
	s := strings.TrimRight(string(b), " \t\r\n")
	letter, isCommand := command(s)
	if !ok || !isCommand {
		r.at = at
		return nil, nil
	}
	h := &Hunk{Input: r.at}
	i := strings.IndexByte(s, letter)
	span := func(s string) (start, count int, ok bool) {
		start, end, ok := starRange([]byte(s), "")
		return start, end - start + 1, ok && end >= start
	}
	var old, new int
	var ok1, ok2 bool
	h.Old, old, ok1 = span(s[:i])
	h.New, new, ok2 = span(s[i+1:])
	if !ok1 || !ok2 {
		return nil, r.malformed(b)
	}
	switch letter {
	case 'a':
		h.Old++
		old = 0
	case 'd':
		h.New++
		new = 0
	}
	take := func(n int, mark string, op byte) error {
		for range n {
			b, ok := r.line()
			if !ok {
				return fail("unexpected end of file in patch at line %d", r.at+1)
			}
			if len(b) < 2 || b[0] != mark[0] || b[1] != ' ' && b[1] != '\t' {
				return fail("'%s' followed by space or tab expected at line %d of patch", mark, r.at)
			}
			h.Lines = append(h.Lines, Line{op, b[2:]})
			r.noNewline(h.Lines)
		}
		return nil
	}
	if err := take(old, "<", '-'); err != nil {
		return nil, err
	}
	if letter == 'c' {
		if b, ok := r.line(); !ok || !bytes.HasPrefix(b, []byte("---")) {
			return nil, fail("'---' expected at line %d of patch", r.at)
		}
	}
	return h, take(new, ">", '+')
}

// ed reads one command of a script as diff -e writes it. The old lines are not known: the hunk's Old
// side is as many empty texts as lines are to go.
func (r *Reader) ed() (*Hunk, error) {
	at := r.at
	b, ok := r.line()
	s := strings.TrimRight(string(b), " \t\r\n")
	letter, isCommand := command(s)
	if !ok || !isCommand {
		r.at = at
		return nil, nil
	}
	h := &Hunk{Input: r.at}
	i := strings.IndexByte(s, letter)
	start, end, ok := starRange([]byte(s[:i]), "")
	if !ok || end < start || i != len(s)-1 {
		return nil, r.malformed(b)
	}
	h.Old, h.New = start, start
	switch letter {
	case 'a':
		h.Old++
	case 'c', 'd':
		for range end - start + 1 {
			h.Lines = append(h.Lines, Line{Op: '-'})
		}
	}
	if letter == 'd' {
		return h, nil
	}
	for {
		b, ok := r.line()
		if !ok {
			return nil, fail("unexpected end of file in patch")
		}
		if string(b) == ".\n" {
			// "s/.//" and a new "a" follow a text line that had to hide its dot.
			if r.at+1 < len(r.lines) && string(r.lines[r.at]) == "s/.//\n" && len(h.Lines) > 0 {
				last := &h.Lines[len(h.Lines)-1]
				last.Text = last.Text[1:]
				r.at++
				if string(r.lines[r.at]) == "a\n" {
					r.at++
					continue
				}
			}
			return h, nil
		}
		h.Lines = append(h.Lines, Line{'+', b})
	}
}
