package patch

import (
	"bytes"
	"slices"
)

// Line is a line of a hunk: ' ' is context, '-' is only in the old file, '+' only in the new one.
type Line struct {
	Op   byte
	Text []byte // with its newline, unless the file ends without one
}

// Hunk is one change with its context.
type Hunk struct {
	Old, New int // line numbers from 1; of an empty side the line it goes before
	Lines    []Line
	Function string // what follows the second @@, or the row of stars
	Input    int    // line of the patch where it begins
}

// Side returns the old ('-') or the new ('+') lines.
func (h *Hunk) Side(op byte) [][]byte {
	var out [][]byte
	for _, l := range h.Lines {
		if l.Op == ' ' || l.Op == op {
			out = append(out, l.Text)
		}
	}
	return out
}

// Context counts the lines of context before the first and after the last change.
func (h *Hunk) Context() (before, after int) {
	change := func(l Line) bool { return l.Op != ' ' }
	before = slices.IndexFunc(h.Lines, change)
	if before < 0 {
		return len(h.Lines), 0
	}
	for i := len(h.Lines) - 1; !change(h.Lines[i]); i-- {
		after++
	}
	return before, after
}

// Reverse swaps the two sides. Deletions stay before additions.
func (h *Hunk) Reverse() {
	h.Old, h.New = h.New, h.Old
	for i := 0; i < len(h.Lines); {
		j := i
		for j < len(h.Lines) && h.Lines[j].Op != ' ' {
			j++
		}
		run := h.Lines[i:j]
		for k := range run {
			run[k].Op = '+' + '-' - run[k].Op
		}
		slices.SortStableFunc(run, func(a, b Line) int { return int(b.Op) - int(a.Op) })
		i = j + 1
	}
}

// File is what Locate searches.
type File struct {
	Lines  [][]byte
	Frozen int  // lines that earlier hunks have settled
	Offset int  // by which the last hunk was off
	New    bool // the patch says that there is no such file yet
	Loose  bool // runs of blanks match each other
	Tick   func(int)
}

// Locate returns the line number where the hunk's old side is, 0 if it is nowhere. fuzz is how many lines
// of context at each end need not match.
func (f *File) Locate(h *Hunk, fuzz int) int {
	old := h.Side('-')
	guess := h.Old + f.Offset
	if len(old) == 0 {
		if f.New && len(f.Lines) > 0 {
			return 0
		}
		return guess
	}
	before, after := h.Context()
	context := max(before, after)
	first, last := fuzz+before-context, fuzz+after-context
	found := func(offset, first, last int) bool { return f.match(old, guess+offset, first, last) }
	if first < 0 && h.Old <= 1 { // only the start of the file will do
		if last < 0 && len(old) != len(f.Lines) {
			return 0
		}
		if f.Frozen > before || !found(1-guess, 0, max(last, 0)) {
			return 0
		}
		f.Offset += 1 - guess
		return 1
	}
	first = max(first, 0)
	if last < 0 { // only its end
		at := len(f.Lines) - len(old) + 1
		if at <= f.Frozen || !found(at-guess, first, 0) {
			return 0
		}
		f.Offset += at - guess
		return at
	}
	up := len(f.Lines) - (len(old) - last) + 1 - guess
	down := min(guess-f.Frozen-1, guess-1)
	for offset := max(0, 1-guess); offset <= max(up, down); offset++ {
		f.Tick(1)
		if offset <= up && found(offset, first, last) {
			f.Offset += offset
			return guess + offset
		}
		if offset > 0 && offset <= down && found(-offset, first, last) {
			f.Offset -= offset
			return guess - offset
		}
	}
	return 0
}

func (f *File) match(old [][]byte, at, first, last int) bool {
	for i := first; i < len(old)-last; i++ {
		n := at - 1 + i
		if n < 0 || n >= len(f.Lines) {
			return false
		}
		if !bytes.Equal(f.Lines[n], old[i]) && !(f.Loose && similar(f.Lines[n], old[i])) {
			return false
		}
		if i&1023 == 1023 {
			f.Tick(1024)
		}
	}
	return true
}

// similar compares lines in which runs of blanks may differ in length.
func similar(a, b []byte) bool {
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	a, b = bytes.TrimRight(a, " \t\r\n"), bytes.TrimRight(b, " \t\r\n")
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if blank(b[j]) {
			if !blank(a[i]) {
				return false
			}
			for i < len(a) && blank(a[i]) {
				i++
			}
			for j < len(b) && blank(b[j]) {
				j++
			}
			continue
		}
		if a[i] != b[j] {
			return false
		}
		i, j = i+1, j+1
	}
	return i == len(a) && j == len(b)
}
