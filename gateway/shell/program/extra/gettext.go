package extra

import (
	"context"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var (
	gettextSpec = getopt.New("c:d:eEhnsV",
		"context:=c domain:=d shell-script=s help=h version=V").WithVersion("(GNU gettext-runtime) 0.21").
		WithUsage("[OPTION] [[TEXTDOMAIN] MSGID]\nor:    gettext [OPTION] -s [MSGID]...",
			"Display native language translation of a textual message.").WithHint("Try '%[1]s --help' for more information.")
	ngettextSpec = getopt.New("+c:d:eEhV",
		"context:=c domain:=d help=h version=V").WithVersion("(GNU gettext-runtime) 0.21").
		WithUsage("[OPTION] [TEXTDOMAIN] MSGID MSGID-PLURAL COUNT",
			"Display native language translation of a textual message whose grammatical form depends on a number.")
)

// gettext prints its message: there are no catalogues to translate it.
func gettext(_ context.Context, p *proc.Process) int {
	opts, args := gettextSpec.Parse(p)
	echo, escapes, newline := false, false, true
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Args = []string{p.Args[0], "--help"}
			gettextSpec.Parse(p)
		case "V":
			p.Out.WriteString("gettext (GNU gettext-runtime) 0.21\n")
			return 0
		case "e":
			escapes = true
		case "n":
			newline = false
		case "s":
			echo = true
		}
	}
	show := func(s string) {
		if escapes {
			var stop bool
			if s, stop = gettextEscapes(s); stop {
				newline = false
			}
		}
		p.Out.WriteString(s)
	}
	if echo {
		for i, a := range args {
			if i > 0 {
				p.Out.WriteByte(' ')
			}
			show(a)
		}
		if newline {
			p.Out.WriteByte('\n')
		}
		return 0
	}
	switch len(args) {
	case 0:
		p.Errorf("missing arguments")
		return 1
	case 1, 2:
		show(args[len(args)-1])
		return 0
	}
	p.Errorf("too many arguments")
	return 1
}

func ngettext(_ context.Context, p *proc.Process) int {
	opts, args := ngettextSpec.Parse(p)
	escapes := false
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Args = []string{p.Args[0], "--help"}
			ngettextSpec.Parse(p)
		case "V":
			p.Out.WriteString("ngettext (GNU gettext-runtime) 0.21\n")
			return 0
		case "e":
			escapes = true
		}
	}
	switch {
	case len(args) == 4:
		args = args[1:]
	case len(args) < 3:
		p.Errorf("missing arguments")
		return 1
	case len(args) > 4:
		p.Errorf("too many arguments")
		return 1
	}
	s := args[1]
	if n := strings.TrimLeft(strings.TrimLeft(args[2], " \t\n"), "+0"); n == "1" && strings.HasSuffix(args[2], "1") {
		s = args[0]
	}
	if escapes {
		s, _ = gettextEscapes(s)
	}
	p.Out.WriteString(s)
	return 0
}

// gettextEscapes expands \a, \n, \NNN and the like; \c stops the newline that would follow.
func gettextEscapes(s string) (out string, stop bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a', 'b', 'f', 'n', 'r', 't', 'v':
			b.WriteByte("\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", c)])
		case 'c':
			stop = true
		case '\\':
			b.WriteByte('\\')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := program.OctalPrefix(s[i:min(i+3, len(s))])
			b.WriteByte(byte(v))
			i += n - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), stop
}
