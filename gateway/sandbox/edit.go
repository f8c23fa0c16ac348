package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Edit is one replacement of a text in a file.
type Edit struct {
	Old, New string
	All      bool // every place; otherwise there has to be one
}

// EditOptions refine Edit.
type EditOptions struct {
	IfMatch string // as in WriteOptions
}

// EditResult is what an Edit did.
type EditResult struct {
	Path         string
	Replacements int
	Size         int64
	ETag         string
	Snippet      string // the changed places with the lines around them, numbered
}

const (
	editMax      = 256 << 20 // the largest text that an edit may leave
	maxEdits     = 1000
	snippetAbove = 3 // lines around a change
	snippetMax   = 8 << 10
	snippetLine  = 300 // bytes of a line that are shown
	nearScan     = 4 << 20
	nearShown    = 3
	placesShown  = 20
)

// Edit replaces texts in a text file, one after the other, all of them or none: EDIT_NO_MATCH when one does not occur,
// EDIT_NOT_UNIQUE when it occurs more than once and All is not set, EDIT_BINARY when the file is not UTF-8 text. The
// file is untouched by an error.
func (s *Service) Edit(
	ctx context.Context, c Caller, id uuid.UUID, path string, edits []Edit, o EditOptions,
) (*EditResult, error) {
	if err := absolute(path); err != nil {
		return nil, err
	}
	if len(edits) < 1 || len(edits) > maxEdits {
		return nil, newError(wire.CodeInvalidInput, nil, fmt.Sprintf("edits: want 1 to %d", maxEdits))
	}
	for _, e := range edits {
		switch {
		case e.Old == "":
			return nil, newError(wire.CodeInvalidInput, nil, "the text to replace must not be empty")
		case e.Old == e.New:
			return nil, newError(wire.CodeInvalidInput, nil, "the two texts are equal")
		}
	}
	var res *EditResult
	err := s.Update(ctx, c, id, "edit", path, func(t *tree.Tree, w *tree.Work) error {
		if err := matches(t, path, o.IfMatch); err != nil {
			return err
		}
		info, err := describe(w, path)
		if err != nil {
			return err
		}
		data, err := w.ReadFile(path)
		if errors.Is(err, vfs.ENOMEM) { // a device without end, or a file for ranged reads only
			return vfs.Path("edit", path, vfs.EFBIG)
		}
		if err != nil {
			return err
		}
		if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
			return newError(wire.CodeEditBinary, nil, fmt.Sprintf("%s is not a text file", info.Path))
		}
		before, total := data, 0
		for i, e := range edits {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			n, next, err := e.apply(info.Path, path, data)
			if err != nil {
				if known, ok := errors.AsType[*Error](err); ok && len(edits) > 1 {
					known.Message = fmt.Sprintf("edit %d of %d: %s", i+1, len(edits), known.Message)
				}
				return err
			}
			data, total = next, total+n
		}
		res = &EditResult{Path: info.Path, Replacements: total, Size: int64(len(data)), ETag: contentETag(data),
			Snippet: snippet(before, data)}
		return w.WriteFile(path, data, fileMode)
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// apply returns how often the text was replaced, and the new text.
func (e Edit) apply(shown, path string, data []byte) (int, []byte, error) {
	n := bytes.Count(data, []byte(e.Old))
	switch {
	case n == 0:
		err := newError(wire.CodeEditNoMatch, nil, fmt.Sprintf("the text to replace does not occur in %s", shown))
		err.Details = nearest(data, e.Old)
		return 0, nil, err
	case n > 1 && !e.All:
		err := newError(wire.CodeEditNotUnique, nil, fmt.Sprintf("the text to replace occurs %d times in %s", n, shown))
		err.Details = []string{places(data, e.Old, n)}
		return 0, nil, err
	}
	// A short text that occurs often and is replaced by a long one makes more than memory holds.
	if size := int64(len(data)) + int64(n)*int64(len(e.New)-len(e.Old)); size > editMax {
		return 0, nil, vfs.Path("edit", path, vfs.EFBIG)
	}
	return n, bytes.ReplaceAll(data, []byte(e.Old), []byte(e.New)), nil
}

// places says at which lines a text begins.
func places(data []byte, text string, n int) string {
	var b strings.Builder
	line, at := 1, 0
	for shown := range min(n, placesShown) {
		i := at + bytes.Index(data[at:], []byte(text))
		line += bytes.Count(data[at:i], []byte{'\n'})
		if shown > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, line)
		line += strings.Count(text, "\n")
		at = i + len(text)
	}
	if n > placesShown {
		fmt.Fprintf(&b, " and %d more", n-placesShown)
	}
	return "at the lines " + b.String()
}

// nearest are the lines that are most like the first line of a text that does not occur, best first.
func nearest(data []byte, text string) []string {
	want := ""
	for l := range strings.SplitSeq(text, "\n") {
		if want = strings.TrimSpace(l); want != "" {
			break
		}
	}
	if want == "" {
		return nil
	}
	if len(want) > snippetLine {
		want = want[:snippetLine]
	}
	pairs := map[[2]byte]int{}
	for i := range len(want) - 1 {
		pairs[[2]byte{want[i], want[i+1]}]++
	}
	type hit struct {
		line  int
		text  string
		score float64
	}
	var best []hit
	number := 0
	for l := range bytes.Lines(data[:min(len(data), nearScan)]) {
		number++
		line := bytes.TrimSpace(l)
		if len(line) == 0 {
			continue
		}
		line = line[:min(len(line), snippetLine)]
		score := likeness(line, want, pairs)
		if score < 0.5 || len(best) == nearShown && best[nearShown-1].score >= score {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1].score < score {
			at--
		}
		best = append(best[:at:at], append([]hit{{number, shortLine(l), score}}, best[at:]...)...)
		best = best[:min(len(best), nearShown)]
	}
	var out []string
	for _, h := range best {
		out = append(out, fmt.Sprintf("nearest: line %d: %s", h.line, h.text))
	}
	return out
}

// likeness is 1 for equal lines and 0 for lines that share nothing: the Dice coefficient of their pairs of bytes.
func likeness(line []byte, want string, pairs map[[2]byte]int) float64 {
	if string(line) == want {
		return 1
	}
	if len(line) < 2 || len(want) < 2 || len(line) > 3*len(want) && len(line) < snippetLine || len(want) > 3*len(line) {
		return 0
	}
	seen := make(map[[2]byte]int, len(line))
	common := 0
	for i := range len(line) - 1 {
		p := [2]byte{line[i], line[i+1]}
		if seen[p]++; seen[p] <= pairs[p] {
			common++
		}
	}
	return 0.99 * 2 * float64(common) / float64(len(line)+len(want)-2)
}

// shortLine is a line as it is shown.
func shortLine(line []byte) string {
	s := strings.TrimRight(string(line), "\r\n")
	if len(s) > snippetLine {
		s = strings.ToValidUTF8(s[:snippetLine], "") + " …"
	}
	return s
}

// snippet shows what an edit changed, from the first line that differs to the last, and some around them, with the
// numbers that they have now.
func snippet(before, after []byte) string {
	head := 0
	for n := min(len(before), len(after)); head < n && before[head] == after[head]; {
		head++
	}
	tail := 0
	for n := min(len(before), len(after)) - head; tail < n && before[len(before)-1-tail] == after[len(after)-1-tail]; {
		tail++
	}
	from := bytes.LastIndexByte(after[:head], '\n') + 1
	for range snippetAbove {
		if from > 0 {
			from = bytes.LastIndexByte(after[:from-1], '\n') + 1
		}
	}
	to := len(after) - tail
	for range snippetAbove + 1 {
		if i := bytes.IndexByte(after[to:], '\n'); i >= 0 {
			to += i + 1
		} else {
			to = len(after)
		}
	}
	number := 1 + bytes.Count(after[:from], []byte{'\n'})
	lines := bytes.SplitAfter(after[from:to], []byte{'\n'})
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	var b, end strings.Builder
	// Of a long stretch the first and the last lines.
	first, last := 0, len(lines)
	for ; first < last && b.Len() < snippetMax/2; first++ {
		fmt.Fprintf(&b, "%6d\t%s\n", number+first, shortLine(lines[first]))
	}
	var rest []string
	for size := 0; last > first && size < snippetMax/2; {
		last--
		l := fmt.Sprintf("%6d\t%s\n", number+last, shortLine(lines[last]))
		rest, size = append(rest, l), size+len(l)
	}
	for i := len(rest) - 1; i >= 0; i-- {
		end.WriteString(rest[i])
	}
	if last > first {
		fmt.Fprintf(&b, "[… %d lines left out …]\n", last-first)
	}
	return b.String() + end.String()
}
