package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/shell/text/diff"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Difference is a path that differs between two states.
type Difference struct {
	store.Difference
	Inserted, Deleted int    // lines, where both sides are text
	Binary            bool   // a side is not text, or too long to be compared line by line
	Unified           string // the change of a text, as diff -u shows it
}

// DiffSpec says which two states to compare.
type DiffSpec struct {
	At     string    // state of the sandbox, as in Caller.At; "": the present one
	From   uuid.UUID // the other sandbox; zero: the same
	FromAt string    // its state; "": of the same sandbox what it began as (@base), of another the present one
	Lines  bool      // compare texts line by line
}

const (
	// diffFileMax is the longest text that is compared line by line, diffTotalMax what all of them may come to.
	diffFileMax  = 1 << 20
	diffTotalMax = 16 << 20
	diffContext  = 3
)

// Diff returns what differs between two states of sandboxes of the caller's, by path.
func (s *Service) Diff(ctx context.Context, c Caller, id uuid.UUID, spec DiffSpec) ([]Difference, error) {
	return owned(ctx, s, c, id, func(ctx context.Context, _ *store.Fence) ([]Difference, error) {
		at, err := stateName(spec.At)
		if err != nil {
			return nil, err
		}
		fromAt, err := stateName(spec.FromAt)
		if err != nil {
			return nil, err
		}
		from := spec.From
		if from == uuid.Nil {
			from = id
		}
		if from == id && fromAt == "" {
			fromAt = "@base"
		}
		rows, err := s.store.Diff(ctx, id, at, from, fromAt)
		if errors.Is(err, vfs.ENOENT) {
			err = newError(wire.CodeENOENT, err, "no such sandbox, snapshot or version of yours, or it is not kept any more")
		}
		if err != nil {
			return nil, err
		}
		out := make([]Difference, len(rows))
		for i := range rows {
			out[i].Difference = rows[i]
		}
		if !spec.Lines || len(out) == 0 {
			return out, nil
		}
		return out, s.diffLines(ctx, c, id, from, at, fromAt, out)
	})
}

// stateOf pins a state of a sandbox.
func (s *Service) stateOf(ctx context.Context, c Caller, id uuid.UUID, at string) (cache.Pin, error) {
	c.At = at
	if at == "" {
		return s.pin(ctx, c, id)
	}
	return s.pinAt(ctx, c, id)
}

func (s *Service) diffLines(
	ctx context.Context, c Caller, id, from uuid.UUID, at, fromAt string, list []Difference,
) error {
	now, err := s.stateOf(ctx, c, id, at)
	if err != nil {
		return err
	}
	defer now.Release()
	old, err := s.stateOf(ctx, c, from, fromAt)
	if err != nil {
		return err
	}
	defer old.Release()
	left := diffTotalMax
	for i := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d := &list[i]
		var a, b []byte
		okA, okB := true, true
		oldPath := d.Path
		if d.PathFrom != "" {
			oldPath = d.PathFrom
		}
		if d.Status != "A" {
			if a, okA, err = s.textOf(ctx, &old, oldPath); err != nil {
				return err
			}
		}
		if d.Status != "D" {
			if b, okB, err = s.textOf(ctx, &now, d.Path); err != nil {
				return err
			}
		}
		if d.Binary = !okA || !okB || len(a)+len(b) > left; d.Binary {
			continue
		}
		left -= len(a) + len(b)
		nameA, nameB := "a"+oldPath, "b"+d.Path
		switch d.Status {
		case "A":
			nameA = "/dev/null"
		case "D":
			nameB = "/dev/null"
		}
		d.Unified, d.Inserted, d.Deleted = unified(nameA, nameB, a, b)
	}
	return nil
}

// textOf reads what can be compared line by line: short texts, and of other files than regular ones nothing.
func (s *Service) textOf(ctx context.Context, pin *cache.Pin, path string) (text []byte, ok bool, err error) {
	w := pin.Tree.Begin(ctx, s.options(pin.Fence, true))
	st, err := w.Lstat(path)
	switch {
	case errors.Is(err, vfs.ENOENT) || errors.Is(err, vfs.ENOTDIR):
		return nil, true, nil // changed since the states were compared
	case err != nil:
		return nil, false, err
	case st.Kind != vfs.Regular:
		return nil, true, nil
	case st.Size > diffFileMax:
		return nil, false, nil
	}
	if text, err = w.ReadFile(path); err != nil {
		return nil, false, err
	}
	return text, bytes.IndexByte(text[:min(len(text), tree.ChunkSize)], 0) < 0, nil
}

// lines splits a text after each newline; the last line may lack its own.
func lines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// unified is the difference of two texts as diff -u prints it, with the numbers of lines.
func unified(nameA, nameB string, a, b []byte) (text string, inserted, deleted int) {
	la, lb := lines(a), lines(b)
	classes := map[string]int{}
	number := func(list [][]byte, ended bool) []int {
		out := make([]int, len(list))
		for i, l := range list {
			key := strings.TrimSuffix(string(l), "\n")
			if i == len(list)-1 && !ended {
				key += "\x00" // a line without its newline is another line
			}
			n, ok := classes[key]
			if !ok {
				n = len(classes)
				classes[key] = n
			}
			out[i] = n
		}
		return out
	}
	endA, endB := bytes.HasSuffix(a, []byte("\n")), bytes.HasSuffix(b, []byte("\n"))
	changes := diff.Lines(number(la, endA), number(lb, endB), diff.Options{})
	if len(changes) == 0 {
		return "", 0, 0
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	put := func(sign byte, l []byte, last bool) {
		out.WriteByte(sign)
		out.Write(bytes.TrimSuffix(l, []byte("\n")))
		out.WriteByte('\n')
		if last {
			out.WriteString("\\ No newline at end of file\n")
		}
	}
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].A-changes[n-1].A-changes[n-1].Del <= 2*diffContext {
			n++
		}
		group := changes[:n]
		changes = changes[n:]
		first, last := group[0], group[n-1]
		fromA, toA := max(first.A-diffContext, 0), min(last.A+last.Del+diffContext, len(la))
		fromB, toB := first.B-(first.A-fromA), last.B+last.Ins+(toA-last.A-last.Del)
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(fromA, toA), span(fromB, toB))
		i := fromA
		for _, c := range group {
			for ; i < c.A; i++ {
				put(' ', la[i], i == len(la)-1 && !endA)
			}
			for ; i < c.A+c.Del; i++ {
				put('-', la[i], i == len(la)-1 && !endA)
			}
			for k := c.B; k < c.B+c.Ins; k++ {
				put('+', lb[k], k == len(lb)-1 && !endB)
			}
			deleted += c.Del
			inserted += c.Ins
		}
		for ; i < toA; i++ {
			put(' ', la[i], i == len(la)-1 && !endA)
		}
	}
	return out.String(), inserted, deleted
}

// span is a range of lines in the head of a hunk.
func span(from, to int) string {
	switch n := to - from; n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}

// MergeChange is the outcome of one change in a merge.
type MergeChange = store.MergeChange

// MergeSpec says what to merge.
type MergeSpec struct {
	From   uuid.UUID // the other sandbox
	FromAt string    // its state, as in Caller.At; "": the present one
	Base   string    // since which state of it; "": since what it was forked from
	// Conflict: lines (texts are merged line by line; nothing is done when something both changed is left), fail (nothing
	// is done when both changed a file), ours, theirs, markers (texts get both sides, marked); "": lines.
	Conflict string
}

// Outcome counts the conflicts of what Merge told, says whether it was done all the same, and whether that changed
// anything.
func (m *MergeSpec) Outcome(list []MergeChange) (conflicts int, merged, changed bool) {
	for i := range list {
		if list[i].Outcome == "conflict" {
			conflicts++
		}
		changed = changed || list[i].Outcome == "merged" || list[i].Winner == "theirs" || list[i].Winner == "both"
	}
	merged = conflicts == 0 || m.Conflict == "ours" || m.Conflict == "theirs" || m.Conflict == "markers"
	return conflicts, merged, merged && changed
}

// AppliedOf says of what was done whether it changed anything.
func AppliedOf(changed bool) Applied {
	if changed {
		return AppliedYes
	}
	return AppliedNo
}

// Merge does in a sandbox what happened in another one of the caller's, and returns the outcome of every change. All of
// it is one commit, which Undo takes back.
func (s *Service) Merge(ctx context.Context, c Caller, id uuid.UUID, spec MergeSpec) (list []MergeChange, err error) {
	fromAt, err := stateName(spec.FromAt)
	if err != nil {
		return nil, err
	}
	base, err := stateName(spec.Base)
	if err != nil {
		return nil, err
	}
	if base == "" {
		base = "@base"
	}
	if spec.Conflict == "" {
		spec.Conflict = "lines"
	}
	_, err = s.changed(ctx, c, id, "merge "+spec.From.String(),
		func(ctx context.Context, e store.Exec) (_ *Sandbox, committed bool, err error) {
			list, err = s.store.Merge(ctx, id, spec.From, fromAt, base, spec.Conflict, e)
			if errors.Is(err, vfs.ENOENT) {
				err = newError(wire.CodeENOENT, err, "no such sandbox, snapshot or version of yours, or it is not kept any more")
			}
			_, _, changed := spec.Outcome(list)
			return nil, changed, err
		})
	return list, err
}
