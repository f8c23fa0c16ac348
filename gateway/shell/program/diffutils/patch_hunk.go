package diffutils

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pgbox/pgbox/gateway/shell/text/patch"
)

// next reads a hunk the way round it is wanted.
func (j *patchJob) next() (*patch.Hunk, error) {
	h, err := j.reader.Hunk()
	if h == nil || err != nil {
		return nil, err
	}
	j.hunks++
	if j.back {
		h.Reverse()
	}
	return h, nil
}

// count reads the hunks of a part that is skipped.
func (j *patchJob) count() error {
	for {
		h, err := j.next()
		if err != nil {
			return err
		}
		if h == nil {
			break
		}
		j.failed = append(j.failed, h)
	}
	if j.outName == "" {
		j.outName = j.in
	}
	j.status = max(j.status, patchFailure)
	j.report()
	return nil
}

// change applies the hunks to the lines.
func (j *patchJob) change(lines [][]byte) error {
	held := 24 * 2 * len(lines)
	j.p.Hold(held)
	defer j.p.Release(held)
	f := &patch.File{Lines: lines, New: j.oldGone() == 2, Loose: j.loose, Tick: j.p.Tick}
	done := 0    // lines of the file that were dealt with
	missing := 0 // lines that the hunks that failed would have added
	ed := j.part.Format == patch.Ed
	for {
		h, err := j.next()
		if err != nil {
			return err
		}
		if h == nil {
			break
		}
		if ed { // from the last line to the first
			if done, lines = 0, j.edit(lines, h); lines == nil {
				return &patch.Error{Message: "ed FAILED"}
			}
			j.result = nil
			continue
		}
		where, fuzz := 0, 0
		if !j.skip {
			where, fuzz = j.find(f, h)
		}
		if where > 0 && where <= f.Frozen {
			j.say("misordered hunks! output would be garbled\n")
			where = 0
		}
		switch {
		case j.skip:
			j.failed = append(j.failed, h)
		case where == 0:
			note := ""
			if endings(f, h) {
				note = " (different line endings)"
			}
			j.say("Hunk #%d FAILED at %d%s.\n", j.hunks, h.New-missing, note)
			missing += len(h.Side('+')) - len(h.Side('-'))
			j.failed = append(j.failed, h)
		default:
			j.tell(h, where, fuzz, where-h.Old)
			j.result = append(j.result, lines[done:min(where-1, len(lines))]...)
			done = j.splice(lines, h, where)
			f.Frozen = done
		}
	}
	j.result = append(j.result, lines[done:]...)
	return nil
}

// edit applies a command of an ed script; nil when the lines are not there.
func (j *patchJob) edit(lines [][]byte, h *patch.Hunk) [][]byte {
	del := len(h.Side('-'))
	at := h.Old - 1
	if at < 0 || at+del > len(lines) {
		return nil
	}
	j.p.Tick(1 + len(lines)>>6)
	return slices.Replace(slices.Clone(lines), at, at+del, h.Side('+')...)
}

// find looks for the hunk with growing fuzz, and for the first one backwards too.
func (j *patchJob) find(f *patch.File, h *patch.Hunk) (where, fuzz int) {
	before, after := h.Context()
	most := min(j.fuzz, max(before, after))
	for ; fuzz <= most; fuzz++ {
		where = f.Locate(h, fuzz)
		if where == 0 || fuzz > 0 || f.Offset != 0 {
			j.mismatch = true
		}
		if where == 0 && j.hunks == 1 && !j.force && !j.anyway && j.back == j.reverse {
			h.Reverse()
			turned := f.Locate(h, fuzz)
			if turned > 0 {
				what := "Reversed (or previously applied)"
				if j.back {
					what = "Unreversed"
				}
				if j.reversed("%s patch detected!", what) {
					j.back = !j.back
					return turned, fuzz
				}
			}
			h.Reverse()
			if j.skip {
				return 0, fuzz
			}
		}
		if where > 0 {
			return where, fuzz
		}
	}
	return 0, fuzz
}

// endings reports whether the hunk would fit if carriage returns did not count.
func endings(f *patch.File, h *patch.Hunk) bool {
	bare := func(lines [][]byte) [][]byte {
		out := make([][]byte, len(lines))
		for i, l := range lines {
			out[i] = bytes.TrimRight(l, "\r\n")
		}
		return out
	}
	at := h.Old - 1
	old := h.Side('-')
	if at < 0 || at+len(old) > len(f.Lines) || len(old) == 0 {
		return false
	}
	lines := f.Lines[at : at+len(old)]
	return !slices.EqualFunc(lines, old, bytes.Equal) && slices.EqualFunc(bare(lines), bare(old), bytes.Equal)
}

func (j *patchJob) tell(h *patch.Hunk, where, fuzz, offset int) {
	if fuzz == 0 && offset == 0 && !j.verbose {
		return
	}
	s := fmt.Sprintf("Hunk #%d succeeded at %d", j.hunks, h.New+offset)
	if fuzz > 0 {
		s += fmt.Sprintf(" with fuzz %d", fuzz)
	}
	if offset != 0 {
		s += fmt.Sprintf(" (offset %d line%s)", offset, pluralEnding(offset))
	}
	j.say("%s.\n", s)
}

// splice puts the new side in the place of the old one; context stays what the file has.
func (j *patchJob) splice(lines [][]byte, h *patch.Hunk, where int) int {
	at := where - 1
	state := byte(' ')
	mark := func(op byte) {
		if j.ifdef == "" || op == state {
			return
		}
		s := ""
		switch {
		case op == ' ':
			s = "#endif\n"
		case state == ' ' && op == '-':
			s = "#ifndef " + j.ifdef + "\n"
		case state == ' ':
			s = "#ifdef " + j.ifdef + "\n"
		default:
			s = "#else\n"
		}
		j.result = append(j.result, []byte(s))
		state = op
	}
	for _, l := range h.Lines {
		j.p.Tick(1)
		mark(l.Op)
		switch l.Op {
		case ' ':
			if at < len(lines) {
				j.result = append(j.result, lines[at])
			}
			at++
		case '-':
			if j.ifdef != "" {
				j.result = append(j.result, lines[at])
			}
			at++
		case '+':
			j.result = append(j.result, l.Text)
		}
	}
	mark(' ')
	return min(at, len(lines))
}
