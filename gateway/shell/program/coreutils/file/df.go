package file

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var dfSpec = getopt.New("aB:hHiklmPTt:vx:",
	"all=a block-size:=B human-readable=h si=H inodes=i local=l no-sync output:: portability=P print-type=T sync total type:=t exclude-type:=x").
	WithUsage("[OPTION]... [FILE]...",
		"Show information about the file system on which each FILE resides, or all file systems by default.")

// The one file system there is.
const (
	dfSource = "pgbox"
	dfType   = "tmpfs"
	dfTarget = "/"
)

var dfFields = []string{"source", "fstype", "itotal", "iused", "iavail", "ipcent", "size", "used", "avail", "pcent",
	"file", "target"}

type dfRun struct {
	p       *proc.Process
	block   program.BlockSize
	posix   bool
	inodes  bool
	columns []string
}

func df(_ context.Context, p *proc.Process) int {
	opts, args := dfSpec.Parse(p)
	d := &dfRun{p: p, block: program.BlockSize{Unit: 1024}}
	var types, excluded []string
	var output, showType, total, hasOutput bool
	for _, o := range opts {
		switch o.Key {
		case "B":
			b, ok := program.ParseBlockSize(o.Value)
			if !ok {
				program.BadBlockSize(p, o)
				return 1
			}
			d.block = b
		case "h":
			d.block = program.BlockSize{Human: 1024}
		case "H":
			d.block = program.BlockSize{Human: 1000}
		case "i":
			if hasOutput {
				dfSpec.Fail(p, "options %s and %s are mutually exclusive", "-i", "--output")
			}
			d.inodes = true
		case "k":
			d.block = program.BlockSize{Unit: 1024}
		case "m":
			d.block = program.BlockSize{Unit: 1 << 20}
		case "P":
			d.posix = true
		case "T":
			showType = true
		case "t":
			types = append(types, o.Value)
		case "x":
			excluded = append(excluded, o.Value)
		case "total":
			total = true
		case "output":
			hasOutput = true
			output = true
			if o.Has {
				d.fields(o.Value)
			} else {
				d.columns = dfFields
			}
		}
	}
	for _, c := range []struct {
		on   bool
		name string
	}{{d.inodes, "-i"}, {d.posix, "-P"}, {showType, "-T"}} {
		if output && c.on {
			dfSpec.Fail(p, "options %s and %s are mutually exclusive", c.name, "--output")
		}
	}
	for _, t := range types {
		if slices.Contains(excluded, t) {
			p.Errorf("file system type %s both selected and excluded", program.Quote(t))
			return 1
		}
	}
	if !output {
		d.columns = []string{"source", "size", "used", "avail", "pcent", "target"}
		if d.inodes {
			d.columns = []string{"source", "itotal", "iused", "iavail", "ipcent", "target"}
		}
		if showType {
			d.columns = slices.Insert(d.columns, 1, "fstype")
		}
	}
	status := 0
	shown := len(types) == 0 || slices.Contains(types, dfType)
	shown = shown && !slices.Contains(excluded, dfType)
	files := []string{"-"}
	if len(args) > 0 {
		files = nil
		for _, a := range args {
			if _, err := p.Stat(a); err != nil {
				p.Errorf("%s: %s", program.QuoteColon(a), proc.Strerror(err))
				status = 1
				continue
			}
			files = append(files, a)
		}
	}
	if !shown || len(files) == 0 {
		if status == 0 {
			p.Errorf("no file systems processed")
		}
		return 1
	}
	rows := [][]string{d.header()}
	for _, f := range files {
		rows = append(rows, d.row(f, dfSource, dfTarget))
	}
	if total {
		row := d.row("-", "total", "-")
		for i, c := range d.columns {
			switch {
			case c == "fstype":
				row[i] = "-"
			case c == "target" && slices.Contains(d.columns, "source"):
				row[i] = "-"
			case c == "target":
				row[i] = "total"
			}
		}
		rows = append(rows, row)
	}
	d.print(rows)
	return status
}

func (d *dfRun) fields(list string) {
	for f := range strings.SplitSeq(list, ",") {
		switch {
		case !slices.Contains(dfFields, f):
			dfSpec.Fail(d.p, "option --output: field %s unknown", program.Quote(f))
		case slices.Contains(d.columns, f):
			dfSpec.Fail(d.p, "option --output: field %s used more than once", program.Quote(f))
		}
		d.columns = append(d.columns, f)
	}
}

func (d *dfRun) header() []string {
	title := map[string]string{"source": "Filesystem", "fstype": "Type", "itotal": "Inodes", "iused": "IUsed",
		"iavail": "IFree", "ipcent": "IUse%",
		"used": "Used", "avail": "Available", "pcent": "Use%", "file": "File", "target": "Mounted on"}
	human := d.block.Human != 0
	if human || len(d.columns) > 0 && d.columns[0] != "source" || slices.Contains(d.columns, "file") || d.posixless() {
		title["avail"] = "Avail"
	}
	switch {
	case human:
		title["size"] = "Size"
	case d.posix:
		title["size"] = strconv.FormatUint(d.block.Unit, 10) + "-blocks"
		title["pcent"] = "Capacity"
	default:
		title["size"] = unitName(d.block.Unit) + "-blocks"
	}
	out := make([]string, len(d.columns))
	for i, c := range d.columns {
		out[i] = title[c]
	}
	return out
}

// posixless reports whether the columns are of --output's own choice.
func (d *dfRun) posixless() bool {
	want := []string{"source", "size", "used", "avail", "pcent", "target"}
	plain := slices.DeleteFunc(slices.Clone(d.columns), func(c string) bool { return c == "fstype" })
	return !slices.Equal(plain, want)
}

// unitName is a block size in its shortest form: 1K, 4K, 1M, 1kB, 512B.
func unitName(n uint64) string {
	for _, u := range []struct {
		base  uint64
		names string
	}{{1024, "KMGTPE"}, {1000, "kMGTPE"}} {
		v, k := n, -1
		for v >= u.base && v%u.base == 0 && k < 5 {
			v /= u.base
			k++
		}
		if k >= 0 {
			s := strconv.FormatUint(v, 10) + u.names[k:k+1]
			if u.base == 1000 {
				s += "B"
			}
			return s
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}

func (d *dfRun) row(file, source, target string) []string {
	u := d.p.FS.Usage()
	size, used, free := spaceOf(u.Bytes, u.MaxBytes)
	inodes, usedInodes, freeInodes := spaceOf(u.Inodes, u.MaxInodes)
	percent := func(used, free uint64) string {
		if used+free == 0 {
			return "-"
		}
		return strconv.FormatUint((used*100+used+free-1)/(used+free), 10) + "%"
	}
	count := func(n uint64) string {
		if d.block.Human != 0 {
			return program.HumanSize(n, d.block.Human)
		}
		return strconv.FormatUint(n, 10)
	}
	values := map[string]string{
		"source": source, "fstype": dfType, "itotal": count(inodes), "iused": count(usedInodes), "iavail": count(freeInodes),
		"ipcent": percent(usedInodes, freeInodes),
		"size":   d.block.Format(size), "used": d.block.Format(used), "avail": d.block.Format(free),
		"pcent": percent(used, free), "file": file, "target": target,
	}
	out := make([]string, len(d.columns))
	for i, c := range d.columns {
		out[i] = values[c]
	}
	return out
}

// spaceOf is what of something limited is there: without a limit there is always a tebi more.
func spaceOf(used, limit int64) (all, taken, free uint64) {
	if limit <= 0 {
		limit = used + 1<<40
	}
	return uint64(limit), uint64(max(used, 0)), uint64(max(0, limit-used))
}

func (d *dfRun) print(rows [][]string) {
	widths := make([]int, len(d.columns))
	for i, c := range d.columns {
		switch c {
		case "source":
			widths[i] = 14
		case "size":
			widths[i] = 5
		case "used", "avail", "itotal", "iused", "iavail":
			widths[i] = 5
		case "pcent", "ipcent":
			widths[i] = 4
		case "fstype":
			widths[i] = 4
		}
		for _, r := range rows {
			widths[i] = max(widths[i], runewidth.StringWidth(r[i]))
		}
	}
	for _, r := range rows {
		for i, c := range d.columns {
			if i > 0 {
				d.p.Out.WriteByte(' ')
			}
			gap := strings.Repeat(" ", widths[i]-runewidth.StringWidth(r[i]))
			switch {
			case c == "source" || c == "fstype" || c == "file" || c == "target":
				d.p.Out.WriteString(r[i])
				if i < len(d.columns)-1 {
					d.p.Out.WriteString(gap)
				}
			default:
				d.p.Out.WriteString(gap + r[i])
			}
		}
		d.p.Out.WriteByte('\n')
	}
}
