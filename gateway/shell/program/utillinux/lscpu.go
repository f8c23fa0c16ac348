package utillinux

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var lscpuSpec = getopt.New("abBC::cJe::p::s:xyG",
	"all=a online=b bytes=B caches::=C offline=c json=J extended::=e parse::=p sysroot:=s hex=x physical=y output-all hierarchic::").WithLetters().
	WithVersion("from util-linux 2.38.1").WithUsage("[options]", "Display information about the CPU architecture.")

// cpuFields are the processors that every sandbox says it has.
var cpuFields = [][2]string{
	{"Architecture:", proc.MachineName}, {"CPU op-mode(s):", "32-bit, 64-bit"}, {"Byte Order:", "Little Endian"},
	{"CPU(s):", fmt.Sprint(proc.Processors)},
	{"On-line CPU(s) list:", fmt.Sprintf("0-%d", proc.Processors-1)}, {"Vendor ID:", "pgbox"}, {"Model name:", "pgbox"},
	{"Thread(s) per core:", "1"},
	{"Core(s) per socket:", fmt.Sprint(proc.Processors)}, {"Socket(s):", "1"}, {"NUMA node(s):", "1"},
	{"NUMA node0 CPU(s):", fmt.Sprintf("0-%d", proc.Processors-1)},
}

// cpuColumns are the columns of -e and -p: their values by the number of the processor.
var cpuColumns = map[string]func(n int) string{
	"CPU": func(n int) string { return fmt.Sprint(n) }, "CORE": func(n int) string { return fmt.Sprint(n) },
	"SOCKET": func(int) string { return "0" },
	"NODE":   func(int) string { return "0" }, "ONLINE": func(int) string { return "yes" },
	"CACHE": func(int) string { return "" },
}

func lscpu(_ context.Context, p *proc.Process) int {
	opts, args := lscpuSpec.Parse(p)
	mode, list, json, which := "", "", false, false
	for _, o := range opts {
		switch o.Key {
		case "J":
			json = true
		case "e", "p":
			if mode != "" && mode != o.Key {
				p.Errorf("mutually exclusive arguments: --extended --parse")
				return 1
			}
			mode, list = o.Key, strings.TrimPrefix(o.Value, "=")
		case "a", "b", "c":
			which = true
		}
	}
	if len(args) > 0 {
		lscpuSpec.Fail(p, "bad usage")
	}
	if which && mode == "" {
		p.Errorf("options --all, --online and --offline may only be used with options --extended or --parse.")
		return 1
	}
	if mode == "" {
		rows := cpuFields
		if json {
			p.Out.WriteString("{\n   \"lscpu\": [\n      {")
			for i, f := range rows {
				if i > 0 {
					p.Out.WriteString("},{")
				}
				fmt.Fprintf(p.Out, "\n         \"field\": %q,\n         \"data\": %q\n      ", f[0], f[1])
			}
			p.Out.WriteString("}\n   ]\n}\n")
			return 0
		}
		for _, f := range rows {
			fmt.Fprintf(p.Out, "%-20s %s\n", f[0], f[1])
		}
		return 0
	}
	columns := []string{"CPU", "NODE", "SOCKET", "CORE", "ONLINE"}
	if mode == "p" {
		columns = []string{"CPU", "CORE", "SOCKET", "NODE", "", "CACHE"}
	}
	if list != "" {
		columns = strings.Split(strings.ToUpper(list), ",")
		if i := slices.IndexFunc(columns, func(c string) bool { return cpuColumns[c] == nil }); i >= 0 {
			p.Errorf("unknown column: %s", strings.Split(list, ",")[i])
			return 1
		}
	}
	var rows [][]string
	for n := range proc.Processors {
		row := make([]string, len(columns))
		for i, c := range columns {
			if f := cpuColumns[c]; f != nil {
				row[i] = f(n)
			}
		}
		rows = append(rows, row)
	}
	if mode == "p" {
		heads := slices.Clone(columns)
		for i, h := range heads {
			if heads[i] = h; len(h) > 3 {
				heads[i] = h[:1] + strings.ToLower(h[1:])
			}
		}
		p.Out.WriteString("# The following is the parsable format, which can be fed to other\n# programs. Each different item in every column has an unique ID\n# starting usually from zero.\n# " + strings.Join(heads, ",") + "\n")
		for _, r := range rows {
			p.Out.WriteString(strings.Join(r, ",") + "\n")
		}
		return 0
	}
	for i, r := range append([][]string{columns}, rows...) {
		for k, v := range r {
			width := max(len(columns[k]), 3)
			gap := strings.Repeat(" ", max(width-len(v), 0))
			switch {
			case k == len(r)-1 && columns[k] != "ONLINE":
				p.Out.WriteString(gap + v)
			case k == len(r)-1 && i > 0:
				p.Out.WriteString(strings.Repeat(" ", 3) + v)
			default:
				p.Out.WriteString(gap + v)
			}
			if k < len(r)-1 {
				p.Out.WriteByte(' ')
			}
		}
		p.Out.WriteByte('\n')
	}
	return 0
}
