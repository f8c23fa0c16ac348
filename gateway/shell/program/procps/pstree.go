package procps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var pstreeSpec = getopt.New("aAcCghH:lnN:psStTuUVZ",
	"arguments=a ascii=A compact-not=c color:=C show-pgids=g highlight-all=h highlight-pid:=H long=l numeric-sort=n ns-sort:=N show-pids=p "+
		"show-parents=s ns-changes=S thread-names=t hide-threads=T uid-changes=u unicode=U version=V vt100=G security-context=Z").
	WithUsage("[-acglpsStTuZ] [ -h | -H PID ] [ -n | -N type ] [ -A | -G | -U ] [ PID | USER ]",
		"Display a tree of processes.").WithVersion("(PSmisc) 23.6")

type pstreeRun struct {
	p                                         *proc.Process
	children                                  map[int][]proc.Info
	args, pids, groups, apart, unicode, byPID bool
	leader                                    int
}

func pstree(_ context.Context, p *proc.Process) int {
	opts, args := pstreeSpec.Parse(p)
	r := &pstreeRun{p: p, children: map[int][]proc.Info{}}
	parents := false
	for _, o := range opts {
		switch o.Key {
		case "V":
			p.Err.WriteString("pstree (PSmisc) 23.6\n")
			return 0
		case "a":
			r.args, r.apart = true, true
		case "A":
			r.unicode = false
		case "c":
			r.apart = true
		case "g":
			r.groups, r.apart = true, true
		case "n":
			r.byPID = true
		case "p":
			r.pids, r.apart = true, true
		case "s":
			parents = true
		case "U":
			r.unicode = true
		}
	}
	all := p.Processes()
	known := map[int]proc.Info{}
	for _, i := range all {
		known[i.PID] = i
	}
	var roots []proc.Info
	for _, i := range all {
		if _, ok := known[i.PPID]; ok && i.PPID != i.PID {
			r.children[i.PPID] = append(r.children[i.PPID], i)
		} else {
			roots = append(roots, i)
		}
	}
	r.leader = all[0].PID
	if len(args) > 0 {
		pid, err := strconv.Atoi(args[0])
		switch {
		case err != nil && args[0] != p.User.Name:
			p.Errorf("No such user name: %s", args[0])
			return 1
		case err == nil:
			i, ok := known[pid]
			if !ok {
				return 1
			}
			roots = []proc.Info{i}
			for up, ok := known[i.PPID]; parents && ok && up.PID != i.PID; up, ok = known[i.PPID] {
				r.children[up.PID] = []proc.Info{i}
				i, roots = up, []proc.Info{up}
			}
		}
	}
	for _, i := range roots {
		if r.args {
			r.lines(i, "", "", 0)
		} else {
			for _, l := range r.tree(i, 0) {
				p.Out.WriteString(l + "\n")
			}
		}
	}
	return 0
}

// name is a process with the numbers that were asked for.
func (r *pstreeRun) name(i proc.Info) string {
	s := comm(i)
	var numbers []string
	if r.pids {
		numbers = append(numbers, strconv.Itoa(i.PID))
	}
	if r.groups {
		numbers = append(numbers, strconv.Itoa(r.leader))
	}
	if r.args {
		if len(numbers) > 0 {
			s += "," + strings.Join(numbers, ",")
		}
		if len(i.Args) > 1 {
			s += " " + strings.Join(i.Args[1:], " ")
		}
		return s
	}
	if len(numbers) > 0 {
		s += "(" + strings.Join(numbers, ",") + ")"
	}
	return s
}

func (r *pstreeRun) sorted(pid int) []proc.Info {
	list := slices.Clone(r.children[pid])
	slices.SortStableFunc(list, func(a, b proc.Info) int {
		if r.byPID {
			return cmp.Compare(a.PID, b.PID)
		}
		return cmp.Or(strings.Compare(comm(a), comm(b)), cmp.Compare(a.PID, b.PID))
	})
	return list
}

// maxTree bounds the depth of what is shown.
const maxTree = 200

// lines prints one process a line, as -a does.
func (r *pstreeRun) lines(i proc.Info, before, below string, depth int) {
	r.p.Tick(1)
	r.p.Out.WriteString(before + r.name(i) + "\n")
	list := r.sorted(i.PID)
	branch, last, down := "  |-", "  `-", "  | "
	if r.unicode {
		branch, last, down = "  ├─", "  └─", "  │ "
	}
	for n, c := range list {
		if depth > maxTree {
			return
		}
		if n == len(list)-1 {
			r.lines(c, below+last, below+"    ", depth+1)
		} else {
			r.lines(c, below+branch, below+down, depth+1)
		}
	}
}

// tree is a process and what it started, drawn to its right.
func (r *pstreeRun) tree(i proc.Info, depth int) []string {
	r.p.Tick(1)
	name := r.name(i)
	list := r.sorted(i.PID)
	if len(list) == 0 || depth > maxTree {
		return []string{name}
	}
	var drawn [][]string
	for _, c := range list {
		drawn = append(drawn, r.tree(c, depth+1))
	}
	if !r.apart {
		// Trees that look alike are drawn once, with their number.
		var kept [][]string
		counts := []int{}
		for _, d := range drawn {
			if k := slices.IndexFunc(kept, func(o []string) bool { return slices.Equal(o, d) }); k >= 0 {
				counts[k]++
			} else {
				kept, counts = append(kept, d), append(counts, 1)
			}
		}
		for k, n := range counts {
			if n == 1 {
				continue
			}
			head := fmt.Sprintf("%d*[", n)
			shifted := make([]string, len(kept[k]))
			for j, l := range kept[k] {
				shifted[j] = strings.Repeat(" ", len(head)) + l
			}
			shifted[0] = head + kept[k][0] + "]"
			kept[k] = shifted
		}
		drawn = kept
	}
	single, first, middle, end, down := "---", "-+-", " |-", " `-", " | "
	if r.unicode {
		single, first, middle, end, down = "───", "─┬─", " ├─", " └─", " │ "
	}
	pad := strings.Repeat(" ", len(name))
	var out []string
	for n, d := range drawn {
		last := n == len(drawn)-1
		for k, l := range d {
			switch {
			case n == 0 && k == 0 && last:
				l = name + single + l
			case n == 0 && k == 0:
				l = name + first + l
			case k == 0 && last:
				l = pad + end + l
			case k == 0:
				l = pad + middle + l
			case last:
				l = pad + "   " + l
			default:
				l = pad + down + l
			}
			r.p.Hold(len(l))
			defer r.p.Release(len(l))
			out = append(out, l)
		}
	}
	return out
}
