package data

import (
	"context"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/sqlite"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

const sqliteUsage = `Usage: sqlite3 [OPTIONS] FILENAME [SQL]
FILENAME is the name of an SQLite database. A new database is created
if the file does not previously exist.
OPTIONS include:
   -ascii -box -column -csv -html -json -line -list -markdown -quote -table -tabs
                        set the output mode
   -bail                stop after hitting an error
   -batch               force batch I/O
   -cmd COMMAND         run "COMMAND" before reading stdin
   -echo                print inputs before execution
   -init FILENAME       read/process named file
   -[no]header          turn headers on or off
   -help                show this message
   -newline SEP         set output row separator. Default: '\n'
   -nullvalue TEXT      set text string for NULL values. Default ''
   -readonly            open the database read-only
   -separator SEP       set output column separator. Default: '|'
   -version             show SQLite version
`

func sqlite3Main(_ context.Context, p *proc.Process) int {
	var database, initFile string
	var commands, before []string // before: -init and -cmd
	var options [][2]string
	named, readOnly, bail, echo := false, false, false, false
	args := p.Args[1:]
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") || a == "-" {
			if !named {
				database, named = a, true
			} else {
				commands = append(commands, a)
			}
			continue
		}
		name := strings.TrimPrefix(a, "-")
		name = strings.TrimPrefix(name, "-")
		value := func() string {
			if i++; i >= len(args) {
				p.Out.Flush()
				fmt.Fprintf(p.Err, "%s: Error: missing argument to %s\n", p.Args[0], a)
				p.Exit(1)
			}
			return args[i]
		}
		switch name {
		case "ascii", "box", "column", "csv", "html", "json", "line", "list", "markdown", "quote", "table", "tabs",
			"header", "headers", "noheader", "noheaders":
			options = append(options, [2]string{name})
		case "separator", "newline", "nullvalue":
			options = append(options, [2]string{name, value()})
		case "cmd":
			before = append(before, value())
		case "init":
			initFile = value()
		case "bail":
			bail = true
		case "echo":
			echo = true
		case "readonly":
			readOnly = true
		case "batch", "interactive", "stats", "safe", "nofollow", "append":
		case "mmap", "maxsize", "nonce":
			value()
		case "lookaside", "pagecache":
			value()
			value()
		case "help":
			p.Out.WriteString(sqliteUsage)
			return 1
		case "version":
			p.Out.WriteString(sqlite.Version() + "\n")
			return 0
		default:
			p.Out.Flush()
			fmt.Fprintf(p.Err, "%s: Error: unknown option: -%s\nUse -help for a list of options.\n", p.Args[0], name)
			return 1
		}
	}
	if !named {
		database = ":memory:"
	}
	s := sqlite.New(p, database)
	defer s.Close()
	s.ReadOnly, s.Bail, s.Echo = readOnly, bail, echo
	if readOnly && !s.Open() {
		return 1
	}
	for _, o := range options {
		s.Option(o[0], o[1])
	}
	if initFile != "" {
		before = append([]string{".read " + dotQuote(initFile)}, before...)
	}
	for _, list := range [][]string{before, commands} {
		for _, c := range list {
			switch status := s.Arg(c); status {
			case 0:
			case -1:
				return 0
			default:
				return status
			}
		}
	}
	if len(commands) > 0 {
		return 0
	}
	if !s.Open() {
		return 1
	}
	s.Script(p.Stdin)
	if s.Errors() > 0 {
		return 1
	}
	return 0
}

// dotQuote quotes an argument of a dot command, whose backslashes keep their meaning.
func dotQuote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
