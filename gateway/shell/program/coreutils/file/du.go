package file

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var duSpec = getopt.New("0abd:chHklmst:xB:DLPSX:",
	"all=a apparent-size bytes=b count-links=l dereference=L dereference-args=D exclude: exclude-from:=X files0-from: human-readable=h inodes "+
		"si max-depth:=d null=0 no-dereference=P one-file-system=x separate-dirs=S summarize=s total=c threshold:=t time:: time-style: block-size:=B").
	WithUsage("[OPTION]... [FILE]...", "Summarize device usage of the set of FILEs, recursively for directories.")

type duRun struct {
	p                                             *proc.Process
	all, apparent, links, separate, total, inodes bool
	followAll, followArgs, showTime               bool
	depth                                         int
	size                                          program.BlockSize
	exclude                                       []string
	threshold                                     int64
	end, timeFormat                               string
	seen                                          map[uint64]bool
	sum                                           duSize
	status                                        int
}

// duSize is what a tree amounts to.
type duSize struct {
	bytes  int64
	inodes int64
	mtime  int64
}

func (a *duSize) add(b duSize) {
	a.bytes += b.bytes
	a.inodes += b.inodes
	a.mtime = max(a.mtime, b.mtime)
}

func du(_ context.Context, p *proc.Process) int {
	opts, args := duSpec.Parse(p)
	d := &duRun{p: p, depth: -1, size: program.BlockSize{Unit: 1024}, end: "\n", seen: map[uint64]bool{},
		timeFormat: "%Y-%m-%d %H:%M"}
	summarize, from, hasFrom := false, "", false
	for _, o := range opts {
		switch o.Key {
		case "0":
			d.end = "\x00"
		case "a":
			d.all = true
		case "b":
			d.apparent, d.size = true, program.BlockSize{Unit: 1}
		case "apparent-size":
			d.apparent = true
		case "c":
			d.total = true
		case "d":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK {
				p.Errorf("invalid maximum depth %s", program.Quote(o.Value))
				duSpec.Hint(p)
			}
			d.depth = int(min(n, program.MaxTreeDepth))
		case "h":
			d.size = program.BlockSize{Human: 1024}
		case "si":
			d.size = program.BlockSize{Human: 1000}
		case "k":
			d.size = program.BlockSize{Unit: 1024}
		case "m":
			d.size = program.BlockSize{Unit: 1 << 20}
		case "B":
			b, ok := program.ParseBlockSize(o.Value)
			if !ok {
				program.BadBlockSize(p, o)
				return 1
			}
			d.size = b
		case "l":
			d.links = true
		case "L":
			d.followAll = true
		case "D", "H":
			d.followAll, d.followArgs = false, true
		case "P":
			d.followAll, d.followArgs = false, false
		case "s":
			summarize = true
		case "S":
			d.separate = true
		case "inodes":
			d.inodes = true
		case "t":
			v, neg := strings.CutPrefix(o.Value, "-")
			n, problem := program.ParseCount(v, "kKmMGTPEZY")
			if problem != program.NumberOK || neg && n == 0 {
				p.Errorf("invalid --threshold argument '%s'", o.Value)
				return 1
			}
			if d.threshold = n; neg {
				d.threshold = -n
			}
		case "time":
			d.showTime = true
		case "time-style":
			switch {
			case strings.HasPrefix(o.Value, "+"):
				d.timeFormat = o.Value[1:]
			default:
				d.timeFormat = map[string]string{"full-iso": "%Y-%m-%d %H:%M:%S.%N %z", "long-iso": "%Y-%m-%d %H:%M",
					"iso": "%Y-%m-%d"}[program.Choose(p, duSpec, o.Key, o.Value, "full-iso", "long-iso", "iso")]
			}
		case "exclude":
			d.exclude = append(d.exclude, o.Value)
		case "X":
			data, err := p.ReadFile(o.Value)
			if err != nil {
				p.Errorf("%s: %s", program.QuoteColon(o.Value), proc.Strerror(err))
				return 1
			}
			d.exclude = append(d.exclude, strings.Fields(string(data))...)
		case "files0-from":
			from, hasFrom = o.Value, true
		}
	}
	if summarize {
		if d.all {
			duSpec.Fail(p, "cannot both summarize and show all entries")
		}
		if d.depth > 0 {
			p.Errorf("warning: summarizing conflicts with --max-depth=%d", d.depth)
			duSpec.Hint(p)
		}
		if d.depth == 0 {
			p.Errorf("warning: summarizing is the same as using --max-depth=0")
		}
		d.depth = 0
	}
	if hasFrom {
		if len(args) > 0 {
			p.Errorf("extra operand %s", program.Quote(args[0]))
			fmt.Fprintf(p.Err, "file operands cannot be combined with --files0-from\n")
			duSpec.Hint(p)
		}
		var ok bool
		if args, ok = program.FilesFrom(p, from, program.QuoteName, "cannot open %s for reading: %s"); !ok {
			return 1
		}
	} else if len(args) == 0 {
		args = []string{"."}
	}
	for _, name := range args {
		stat := p.Lstat
		if d.followAll || d.followArgs {
			stat = p.Stat
		}
		st, err := stat(name)
		if err == nil && st.Kind == vfs.Symlink && strings.HasSuffix(name, "/") {
			st, err = p.Stat(name)
		}
		if err != nil {
			p.Errorf("cannot access %s: %s", program.QuoteName(name), proc.Strerror(err))
			d.status = 1
			continue
		}
		if size, ok := d.walk(name, st, 0); ok {
			d.sum.add(size)
		}
	}
	if d.total {
		d.print(d.sum, "total")
	}
	return d.status
}

func (d *duRun) excluded(name string) bool {
	base := program.BaseName(name)
	for _, pattern := range d.exclude {
		if program.Fnmatch(d.p, pattern, base, false) || program.Fnmatch(d.p, pattern, name, false) {
			return true
		}
	}
	return false
}

func (d *duRun) walk(name string, st vfs.Stat, depth int) (size duSize, ok bool) {
	d.p.Tick(1)
	if d.excluded(name) {
		return size, false
	}
	if (st.Nlink > 1 || depth == 0) && !d.links || st.IsDir() {
		if d.seen[st.Ino] {
			return size, false
		}
		d.seen[st.Ino] = true
	}
	size = duSize{st.Blocks * 512, 1, st.Mtime}
	if d.apparent {
		size.bytes = st.Size
		if st.IsDir() || st.Kind == vfs.Char {
			// GNU counts what stat says for directories too.
			size.bytes = st.Size
		}
	}
	own := size
	if st.IsDir() && depth < program.MaxTreeDepth {
		entries, err := d.p.ReadDir(name)
		if err != nil {
			d.p.Errorf("cannot read directory %s: %s", program.QuoteName(name), proc.Strerror(err))
			d.status = 1
		}
		for _, e := range entries {
			child := program.JoinPath(name, e.Name)
			stat := d.p.Lstat
			if d.followAll {
				stat = d.p.Stat
			}
			cst, err := stat(child)
			if err != nil {
				if d.followAll && isErrnoIn(err, vfs.ENOENT, vfs.ELOOP) {
					cst, err = d.p.Lstat(child)
				}
				if err != nil {
					d.p.Errorf("cannot access %s: %s", program.QuoteName(child), proc.Strerror(err))
					d.status = 1
					continue
				}
			}
			sub, counted := d.walk(child, cst, depth+1)
			if !counted {
				continue
			}
			size.add(sub)
			if !cst.IsDir() {
				own.add(sub)
			}
		}
	}
	shown := size
	if d.separate {
		shown = own
	}
	if (st.IsDir() || d.all || depth == 0) && (d.depth < 0 || depth <= d.depth) {
		d.print(shown, name)
	}
	return size, true
}

func isErrnoIn(err error, list ...vfs.Errno) bool {
	e, ok := vfs.Of(err)
	for _, x := range list {
		if ok && e == x {
			return true
		}
	}
	return false
}

func (d *duRun) print(size duSize, name string) {
	n := size.bytes
	text := d.size.Format(uint64(max(size.bytes, 0)))
	if d.inodes {
		n = size.inodes
		text = strconv.FormatInt(n, 10)
		if d.size.Human != 0 {
			text = program.HumanSize(uint64(n), d.size.Human)
		}
	}
	if d.threshold > 0 && n < d.threshold || d.threshold < 0 && n > -d.threshold {
		return
	}
	if d.showTime {
		when := datetime.Counted(d.p, d.timeFormat, time.Unix(0, size.mtime).In(datetime.Zone(d.p.Getenv("TZ"))))
		defer d.p.Release(len(when))
		text += "\t" + when
	}
	d.p.Out.WriteString(text + "\t" + name + d.end)
}
