package diffutils

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/patch"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// report says how many hunks failed, and saves them.
func (j *patchJob) report() {
	if len(j.failed) == 0 {
		return
	}
	j.status = max(j.status, patchFailure)
	verb := "FAILED"
	if j.skip {
		verb = "ignored"
	}
	out := j.messages()
	fmt.Fprintf(out, "%d out of %d hunk%s %s", len(j.failed), j.hunks, pluralEnding(j.hunks), verb)
	if j.noReject || j.dry || j.reject == "-" || j.outName == "-" && j.reject == "" {
		out.WriteByte('\n')
		return
	}
	name := j.reject
	if name == "" {
		name = j.outName + ".rej"
	}
	fmt.Fprintf(out, " -- saving rejects to file %s\n", diffName(name))
	f, err := j.p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666&^j.p.Umask)
	if err != nil {
		j.status = j.fatal("Can't create file %s : %s", name, proc.Strerror(err))
		return
	}
	w := proc.NewWriter(f, j.p)
	j.rejected(w)
	w.Flush()
	_ = f.Close()
}

// rejected writes the failed hunks as a diff.
func (j *patchJob) rejected(w *proc.Writer) {
	old, new := j.part.Old, j.part.New
	if j.back {
		old, new = new, old
	}
	name := func(n patch.Name) string {
		s := n.Path
		if s == "" {
			return "/dev/null"
		}
		if t := j.stripped(s); t != "" {
			s = t
		}
		return s + n.Stamp
	}
	unified := j.part.Format == patch.Unified
	if j.rejects != "" {
		unified = j.rejects == "unified"
	}
	if unified {
		fmt.Fprintf(w, "--- %s\n+++ %s\n", name(old), name(new))
	} else {
		fmt.Fprintf(w, "*** %s\n--- %s\n", name(old), name(new))
	}
	for _, h := range j.failed {
		j.p.Tick(1 + len(h.Lines))
		if unified {
			rejectUnified(w, h)
		} else {
			rejectContext(w, h, j.part.Format == patch.Normal)
		}
	}
}

func rejectLine(w *proc.Writer, mark string, text []byte) {
	w.WriteString(mark)
	w.Write(text)
	if !bytes.HasSuffix(text, []byte{'\n'}) {
		w.WriteString("\n\\ No newline at end of file\n")
	}
}

func rejectUnified(out *proc.Writer, h *patch.Hunk) {
	span := func(start, n int) string {
		switch n {
		case 0:
			return strconv.Itoa(start-1) + ",0"
		case 1:
			return strconv.Itoa(start)
		}
		return fmt.Sprintf("%d,%d", start, n)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@", span(h.Old, len(h.Side('-'))), span(h.New, len(h.Side('+'))))
	if h.Function != "" {
		out.WriteString(" " + h.Function)
	}
	out.WriteByte('\n')
	for _, l := range h.Lines {
		rejectLine(out, string(l.Op), l.Text)
	}
}

func rejectContext(w *proc.Writer, h *patch.Hunk, normal bool) {
	stars, minuses := " ****", " ----"
	if normal {
		stars, minuses = "", " -----"
	}
	side := func(head, tail string, start int, op byte) {
		n, changed := 0, false
		for _, l := range h.Lines {
			if l.Op == ' ' || l.Op == op {
				n++
			}
			changed = changed || l.Op == op
		}
		span := strconv.Itoa(start)
		switch {
		case n == 0:
			span = strconv.Itoa(start - 1)
		case n > 1:
			span = fmt.Sprintf("%d,%d", start, start+n-1)
		}
		fmt.Fprintf(w, "%s %s%s\n", head, span, tail)
		if !changed {
			return
		}
		for i, l := range h.Lines {
			switch l.Op {
			case ' ':
				rejectLine(w, "  ", l.Text)
			case op:
				mark := string(op) + " "
				if !normal && twoSided(h.Lines, i) {
					mark = "! "
				}
				rejectLine(w, mark, l.Text)
			}
		}
	}
	w.WriteString("***************")
	if h.Function != "" {
		w.WriteString(" " + h.Function)
	}
	w.WriteByte('\n')
	side("***", stars, h.Old, '-')
	side("---", minuses, h.New, '+')
}

// twoSided reports whether the run of changes around line i has both deletions and additions.
func twoSided(lines []patch.Line, i int) bool {
	lo, hi := i, i
	for lo > 0 && lines[lo-1].Op != ' ' {
		lo--
	}
	for hi < len(lines) && lines[hi].Op != ' ' {
		hi++
	}
	var del, ins bool
	for _, l := range lines[lo:hi] {
		del = del || l.Op == '-'
		ins = ins || l.Op == '+'
	}
	return del && ins
}

func pluralEnding(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
