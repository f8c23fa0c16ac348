package utillinux

import (
	"context"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var whereisSpec = getopt.New("bmsuglfB:M:S:hV", "").WithUsage("[options] [-BMS <dir>... -f] <name>",
	"Locate the binary, source, and manual-page files for a command.").WithVersion("from util-linux 2.38.1")

// whereis looks for programs in the usual places and in PATH; manual pages and sources where they are kept, if there
// are any.
func whereis(_ context.Context, p *proc.Process) int {
	places := map[byte][]string{
		'b': {"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin", "/opt"},
		'm': {"/usr/share/man/man1", "/usr/share/man/man5", "/usr/share/man/man8", "/usr/local/share/man/man1"},
		's': {"/usr/src"},
	}
	for dir := range strings.SplitSeq(p.Getenv("PATH"), ":") {
		if dir != "" && !slices.Contains(places['b'], dir) {
			places['b'] = append(places['b'], dir)
		}
	}
	// A place that is a link to another is not looked at twice.
	for k, dirs := range places {
		var real []string
		for _, d := range dirs {
			if at, err := p.FS.Realpath(p.Abs(d)); err == nil && !slices.Contains(real, at) {
				real = append(real, at)
			}
		}
		places[k] = real
	}
	var kinds string
	unusual, glob, ran := false, false, false
	args := p.Args[1:]
	if len(args) == 0 {
		whereisSpec.Fail(p, "not enough arguments")
	}
	for n := 0; n < len(args); n++ {
		a := args[n]
		switch {
		case a == "--help" || a == "--version" || len(a) > 2 && a[0] == '-' && a[1] == '-':
			whereisSpec.Parse(p)
		case len(a) > 1 && a[0] == '-':
			for i := 1; i < len(a); i++ {
				switch c := a[i]; c {
				case 'b', 'm', 's':
					if ran {
						kinds, ran = "", false
					}
					kinds += string(c)
				case 'u':
					unusual = true
				case 'g':
					glob = true
				case 'f':
				case 'B', 'M', 'S':
					var dirs []string
					for n+1 < len(args) && args[n+1] != "" && args[n+1][0] != '-' {
						n++
						dirs = append(dirs, args[n])
					}
					places[c|0x20] = dirs
				case 'l':
					for _, k := range []struct {
						key  byte
						name string
					}{{'b', "bin"}, {'m', "man"}, {'s', "src"}} {
						for _, d := range places[k.key] {
							p.Out.WriteString(k.name + ": " + d + "\n")
						}
					}
					return 0
				case 'h':
					p.Out.WriteString("\nUsage:\n whereis [options] [-BMS <dir>... -f] <name>\n\nLocate the binary, source, and manual-page files for a command.\n")
					return 0
				case 'V':
					p.Out.WriteString("whereis from util-linux 2.38.1\n")
					return 0
				default:
					p.Err.WriteString("whereis: invalid option -- '" + string(c) + "'\n")
					whereisSpec.Hint(p)
				}
			}
		default:
			ran = true
			want := kinds
			if want == "" {
				want = "bms"
			}
			name := a[strings.LastIndexByte(a, '/')+1:]
			var found []string
			for _, k := range "bms" {
				if strings.ContainsRune(want, k) {
					for _, dir := range places[byte(k)] {
						found = append(found, whereisIn(p, dir, name, byte(k), glob)...)
					}
				}
			}
			if unusual && len(found) == len(want) {
				continue
			}
			p.Out.WriteString(strings.Join(append([]string{name + ":"}, found...), " ") + "\n")
		}
	}
	return 0
}

func whereisIn(p *proc.Process, dir, name string, kind byte, glob bool) []string {
	entries, err := p.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		p.Tick(1)
		base := e.Name
		if kind == 's' {
			base = strings.TrimPrefix(base, "s.")
		}
		for _, suffix := range []string{".gz", ".bz2", ".xz", ".zst", ".Z"} {
			base = strings.TrimSuffix(base, suffix)
		}
		ok := base == name || e.Name == name || strings.HasPrefix(base, name+".") &&
			!strings.Contains(base[len(name)+1:], ".")
		if glob {
			ok = program.Fnmatch(p, name, base, false)
		}
		if ok {
			out = append(out, program.JoinPath(dir, e.Name))
		}
	}
	return out
}
