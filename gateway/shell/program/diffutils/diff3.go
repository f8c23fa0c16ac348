package diffutils

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/diff"
)

var diff3Spec = getopt.New("aeAxXE3miTL:v",
	"text=a show-all=A ed=e show-overlap=E merge=m initial-tab=T label:=L overlap-only=x easy-only=3 strip-trailing-cr diff-program: version=v").
	WithStatus(2).WithHint(getopt.NamedHint).
	WithUsage("[OPTION]... MYFILE OLDFILE YOURFILE", "Compare three files line by line.").
	WithVersion("(compatible with GNU diffutils) 3.8")

// diff3Horizon is how many common lines at both ends take part in comparisons.
const diff3Horizon = 100

// diff3Block is a stretch in which the files are not all the same. odd is the file that differs from the other two, -1
// if all do.
type diff3Block struct {
	odd      int
	from, to [3]int
}

type diff3Run struct {
	p      *proc.Process
	lines  [3][][]byte // with their newlines
	labels [3]string
	tab    bool
	style  string // option that picks changes: A, E, e, x, X or 3
	status int
}

func diff3(_ context.Context, p *proc.Process) int {
	opts, args := diff3Spec.Parse(p)
	d := &diff3Run{p: p}
	merge, stripCR := false, false
	var labels []string
	for _, o := range opts {
		switch o.Key {
		case "m":
			merge = true
		case "T":
			d.tab = true
		case "L":
			labels = append(labels, o.Value)
		case "strip-trailing-cr":
			stripCR = true
		case "v":
			p.Out.WriteString("diff3 (compatible with GNU diffutils) 3.8\n")
			return 0
		case "A", "E", "e", "x", "X", "3":
			d.style = o.Key
		}
	}
	switch {
	case len(args) < 3:
		diff3Spec.Fail(p, "missing operand after '%s'", p.Args[len(p.Args)-1])
	case len(args) > 3:
		diff3Spec.Fail(p, "extra operand '%s'", args[3])
	case len(labels) > 3:
		diff3Spec.Fail(p, "too many file label options")
	}
	copy(d.labels[:], args)
	copy(d.labels[:], labels)
	for i, name := range args {
		data, err := d.load(name)
		if err != nil {
			p.Errorf("%s: %s", name, proc.Strerror(err))
			return 2
		}
		for l := range bytes.Lines(data) {
			if n := len(l); stripCR && n > 1 && l[n-2] == '\r' {
				l = append(l[:n-2:n-2], '\n')
			}
			d.lines[i] = append(d.lines[i], l)
			p.Tick(1)
		}
		p.Hold(48 * len(d.lines[i]))
		defer p.Release(48 * len(d.lines[i]))
	}
	common := 2
	if merge || d.style != "" {
		common = 1
	}
	blocks := d.blocks(common)
	switch {
	case merge:
		if d.style == "" {
			d.style = "A"
		}
		d.merge(blocks)
	case d.style != "":
		d.script(blocks)
	default:
		d.report(blocks)
	}
	return d.status
}

func (d *diff3Run) load(name string) ([]byte, error) {
	r, err := d.p.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return d.p.ReadAll(r)
}

// blocks lines up the comparisons of two files with the common one; changes that touch become one. As in GNU's the old
// file is the common one where files are merged and the last one where differences are shown.
func (d *diff3Run) blocks(common int) []diff3Block {
	others := [2]int{0, 3 - common}
	classes := map[string]int{}
	var ids [3][]int
	for i, lines := range d.lines {
		for _, l := range lines {
			d.p.Tick(1 + len(l)>>10)
			n, ok := classes[string(l)]
			if !ok {
				n = len(classes) + 1
				classes[string(l)] = n
				d.p.Hold(len(l) + 64)
				defer d.p.Release(len(l) + 64)
			}
			ids[i] = append(ids[i], n)
		}
	}
	var list [2][]diff.Change
	for k, i := range others {
		for _, c := range diff.Lines(ids[i], ids[common], diff.Options{Horizon: diff3Horizon, Tick: d.p.Tick}) {
			list[k] = append(list[k], diff.Change{A: c.B, Del: c.Ins, B: c.A, Ins: c.Del})
		}
	}
	var out []diff3Block
	var shift, next [2]int // of a file's lines against the old ones; changes used
	for next[0] < len(list[0]) || next[1] < len(list[1]) {
		d.p.Tick(1)
		lo := -1
		for k := range list {
			if next[k] < len(list[k]) && (lo < 0 || list[k][next[k]].A < lo) {
				lo = list[k][next[k]].A
			}
		}
		hi, before := lo, shift
		var used [2]bool
		for more := true; more; {
			more = false
			for k := range list {
				for next[k] < len(list[k]) && list[k][next[k]].A <= hi {
					c := list[k][next[k]]
					hi = max(hi, c.A+c.Del)
					shift[k] += c.Ins - c.Del
					next[k]++
					used[k], more = true, true
				}
			}
		}
		b := diff3Block{odd: -1}
		b.from[common], b.to[common] = lo, hi
		for k, i := range others {
			b.from[i], b.to[i] = lo+before[k], hi+shift[k]
		}
		switch {
		case !used[1]:
			b.odd = others[0]
		case !used[0]:
			b.odd = others[1]
		case sameLines(d.part(b, others[0]), d.part(b, others[1])):
			b.odd = common
		}
		out = append(out, b)
	}
	return out
}

func sameLines(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// part is what file i has in a block.
func (d *diff3Run) part(b diff3Block, i int) [][]byte { return d.lines[i][b.from[i]:b.to[i]] }

func (d *diff3Run) report(blocks []diff3Block) {
	out := d.p.Out
	prefix := "  "
	if d.tab {
		prefix = "\t"
	}
	for _, b := range blocks {
		order, silent, name := []int{0, 1, 2}, -1, ""
		switch b.odd {
		case 0:
			silent = 1
		case 1:
			order, silent = []int{0, 2, 1}, 0
		case 2:
			silent = 0
		}
		if b.odd >= 0 {
			name = strconv.Itoa(b.odd + 1)
		}
		out.WriteString("====" + name + "\n")
		for _, i := range order {
			switch n := b.to[i] - b.from[i]; n {
			case 0:
				fmt.Fprintf(out, "%d:%da\n", i+1, b.from[i])
			case 1:
				fmt.Fprintf(out, "%d:%dc\n", i+1, b.to[i])
			default:
				fmt.Fprintf(out, "%d:%d,%dc\n", i+1, b.from[i]+1, b.to[i])
			}
			if i == silent {
				continue
			}
			for _, l := range d.part(b, i) {
				out.WriteString(prefix)
				out.Write(l)
				if l[len(l)-1] != '\n' {
					out.WriteString("\n\\ No newline at end of file\n")
				}
			}
		}
	}
}

// picks reports whether a block is changed to what the third file has, and whether it is shown as a conflict.
func (d *diff3Run) picks(b diff3Block) (change, conflict bool) {
	switch d.style {
	case "A":
		return b.odd == 2, b.odd == -1 || b.odd == 1
	case "E":
		return b.odd == 2, b.odd == -1
	case "e":
		return b.odd == 2 || b.odd == -1, false
	case "3":
		return b.odd == 2, false
	}
	return b.odd == -1, false // x, X
}

func (d *diff3Run) put(lines [][]byte) {
	for _, l := range lines {
		d.p.Out.Write(l)
	}
}

func (d *diff3Run) merge(blocks []diff3Block) {
	out := d.p.Out
	at := 0
	for _, b := range blocks {
		d.p.Tick(1)
		d.put(d.lines[0][at:b.from[0]])
		at = b.to[0]
		change, conflict := d.picks(b)
		switch {
		case conflict:
			d.status = 1
			if b.odd == 1 {
				out.WriteString("<<<<<<< " + d.labels[1] + "\n")
				d.put(d.part(b, 1))
			} else {
				out.WriteString("<<<<<<< " + d.labels[0] + "\n")
				d.put(d.part(b, 0))
				if d.style == "A" {
					out.WriteString("||||||| " + d.labels[1] + "\n")
					d.put(d.part(b, 1))
				}
			}
			out.WriteString("=======\n")
			d.put(d.part(b, 2))
			out.WriteString(">>>>>>> " + d.labels[2] + "\n")
		case change:
			d.put(d.part(b, 2))
		default:
			d.put(d.part(b, 0))
		}
	}
	d.put(d.lines[0][at:])
}

// script prints commands for ed, from the last line to the first.
func (d *diff3Run) script(blocks []diff3Block) {
	out := d.p.Out
	for k := len(blocks) - 1; k >= 0; k-- {
		b := blocks[k]
		d.p.Tick(1)
		change, conflict := d.picks(b)
		switch {
		case conflict:
			d.status = 1
			fmt.Fprintf(out, "%da\n", b.to[0])
			if d.style == "A" && b.odd == -1 {
				out.WriteString("||||||| " + d.labels[1] + "\n")
				d.put(d.part(b, 1))
			}
			if b.odd != 1 { // else the text between the marks is in the file already
				out.WriteString("=======\n")
				d.put(d.part(b, 2))
			}
			out.WriteString(">>>>>>> " + d.labels[2] + "\n.\n")
			label := d.labels[0]
			if b.odd == 1 {
				label = d.labels[1]
			}
			fmt.Fprintf(out, "%da\n<<<<<<< %s\n", b.from[0], label)
			if b.odd == 1 {
				d.put(d.part(b, 1))
				out.WriteString("=======\n")
			}
			out.WriteString(".\n")
		case change:
			c := diff.Change{A: b.from[0], Del: b.to[0] - b.from[0], Ins: b.to[2] - b.from[2]}
			out.WriteString(editRange(c.A, c.Del) + changeLetter(c) + "\n")
			if c.Ins > 0 {
				d.put(d.part(b, 2))
				out.WriteString(".\n")
			}
		}
	}
}
