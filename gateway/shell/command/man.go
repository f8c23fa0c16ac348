package command

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

var (
	manSpec = getopt.New("C:dDfklKwWcL:m:M:S:s:e:iIauP:r:7E:p:tT::H::X::ZhV?",
		"config-file:=C debug=d default=D whatis=f apropos=k local-file=l global-apropos=K where=w path=w location=w where-cat=W location-cat=W catman=c locale:=L systems:=m manpath:=M sections:=S "+
			"extension:=e ignore-case=i match-case=I regex wildcard names-only all=a update=u no-subpages pager:=P prompt:=r ascii=7 encoding:=E no-hyphenation no-justification preprocessor:=p troff=t help=h version=V").
		WithStatus(2).WithUsage("[OPTION...] [SECTION] PAGE...", "Say what commands do.").WithVersion("2.11.2")
	aproposSpec = getopt.New("dvrwealC:L:m:M:s:hV",
		"debug=d verbose=v regex=r wildcard=w exact=e and=a long=l config-file:=C locale:=L systems:=m manpath:=M sections:=s section:=s help=h version=V").
		WithStatus(2).WithUsage("[OPTION...] KEYWORD...", "Search the descriptions of commands.").WithVersion("2.11.2")
)

// noPage is the status of man when there is no page.
const noPage = 16

func manLine(name string) string {
	return name + " (1)" + strings.Repeat(" ", max(20-len(name)-4, 0)) + " - " + table[name].Does + "\n"
}

// man shows what is known of a command: what it does, its options and what differs from the real one.
func man(_ context.Context, p *proc.Process) int {
	opts, args := manSpec.Parse(p)
	where, section := false, ""
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Out.WriteString("Usage: man [OPTION...] [SECTION] PAGE...\n")
			return 0
		case "V":
			p.Out.WriteString("man 2.11.2\n")
			return 0
		case "k":
			return search(p, "apropos", args, false, false, true, false)
		case "f":
			return search(p, "whatis", args, false, false, false, false)
		case "w", "W":
			where = true
		case "s", "S":
			section = o.Value
		}
	}
	isSection := func(s string) bool { return len(s) == 1 && (s[0] >= '1' && s[0] <= '9' || s == "n" || s == "l") }
	if len(args) > 1 && isSection(args[0]) {
		section, args = args[0], args[1:]
	}
	if len(args) == 0 {
		if where {
			p.Out.WriteString("/usr/local/man:/usr/local/share/man:/usr/share/man\n")
			return 0
		}
		if section != "" || len(p.Args) > 1 && isSection(p.Args[1]) {
			p.Err.WriteString("No manual entry for " + section + "\n")
		}
		p.Err.WriteString("What manual page do you want?\nFor example, try 'man man'.\n")
		return 1
	}
	status := 0
	for _, a := range args {
		about, ok := table[a]
		switch {
		case !ok || section != "" && !strings.Contains(section, "1"):
			p.Out.Flush()
			if section != "" {
				p.Err.WriteString("No manual entry for " + a + " in section " + section + "\n")
			} else {
				p.Err.WriteString("No manual entry for " + a + "\n")
			}
			status = noPage
		case where:
			p.Out.WriteString("/usr/share/man/man1/" + a + ".1.gz\n")
		default:
			title := strings.ToUpper(a) + "(1)"
			middle := "User Commands"
			gap := max(80-2*len(title)-len(middle), 2) / 2
			p.Out.WriteString(title + strings.Repeat(" ", gap) + middle + strings.Repeat(" ", gap) + title +
				"\n\nNAME\n       " + a + " - " + about.Does + "\n")
			if about.Differ != "" {
				p.Out.WriteString("\nDIFFERENCES\n       " + about.Differ + "\n")
			}
			p.Out.WriteString("\nSEE ALSO\n       " + a + " --help\n")
		}
	}
	return status
}

func apropos(_ context.Context, p *proc.Process) int {
	opts, args := aproposSpec.Parse(p)
	wildcard, regular, exact, and := false, true, false, false
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Out.WriteString("Usage: " + p.Name() + " [OPTION...] KEYWORD...\n")
			return 0
		case "V":
			p.Out.WriteString(p.Name() + " 2.11.2\n")
			return 0
		case "w":
			wildcard = true
		case "r":
			regular = true
		case "e":
			exact = true
		case "a":
			and = true
		}
	}
	if p.Name() == "whatis" {
		regular = slices.ContainsFunc(opts, func(o getopt.Option) bool { return o.Key == "r" })
	}
	return search(p, p.Name(), args, wildcard, exact, regular, and)
}

// search looks for commands: apropos in names and descriptions, whatis in names.
func search(p *proc.Process, as string, words []string, wildcard, exact, regular, and bool) int {
	if len(words) == 0 {
		p.Err.WriteString(as + " what?\n")
		return 1
	}
	match := make([]func(name, does string) bool, len(words))
	found := make([]bool, len(words))
	for i, w := range words {
		folded := strings.ToLower(w)
		switch {
		case wildcard:
			match[i] = func(name, does string) bool {
				return program.Fnmatch(p, folded, name, false) || as == "apropos" &&
					slices.ContainsFunc(strings.Fields(strings.ToLower(does)),
						func(s string) bool { return program.Fnmatch(p, folded, s, false) })
			}
		case as == "whatis" && !regular || exact:
			match[i] = func(name, does string) bool {
				return name == folded || exact && as == "apropos" && slices.Contains(strings.Fields(strings.ToLower(does)), folded)
			}
		default:
			re, err := regex.Compile(folded, regex.Options{Extended: true, Tick: p.Tick})
			if err != nil {
				p.Err.WriteString(as + ": fatal: regex " + program.QuoteName(w) + ": " + err.Error() + "\n")
				return 1
			}
			match[i] = func(name, does string) bool {
				return re.Match([]byte(name)) || as == "apropos" && re.Match([]byte(strings.ToLower(does)))
			}
		}
	}
	any := false
	for _, name := range slices.Sorted(maps.Keys(table)) {
		p.Tick(1)
		n := 0
		for i := range words {
			if match[i](name, table[name].Does) {
				found[i] = true
				n++
			}
		}
		if n == len(words) || n > 0 && !and {
			any = true
			p.Out.WriteString(manLine(name))
		}
	}
	status := 0
	for i, w := range words {
		if !found[i] || !any {
			p.Out.Flush()
			p.Err.WriteString(w + ": nothing appropriate.\n")
			status = noPage
		}
	}
	return status
}
