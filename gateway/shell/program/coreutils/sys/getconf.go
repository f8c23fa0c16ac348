package sys

import (
	"context"
	_ "embed"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// getconfTable has a line for each variable, in the order of getconf -a; a line without a value is of one that is
// undefined. The first variables and those near POSIX_ALLOC_SIZE_MIN are limits of a path.
//
//go:embed getconf.txt
var getconfTable string

// pathLimits are the variables that want a path.
var pathLimits = program.WordSet("LINK_MAX _POSIX_LINK_MAX MAX_CANON _POSIX_MAX_CANON MAX_INPUT _POSIX_MAX_INPUT NAME_MAX _POSIX_NAME_MAX PATH_MAX _POSIX_PATH_MAX PIPE_BUF _POSIX_PIPE_BUF SOCK_MAXBUF " +
	"_POSIX_ASYNC_IO _POSIX_CHOWN_RESTRICTED _POSIX_NO_TRUNC _POSIX_PRIO_IO _POSIX_SYNC_IO _POSIX_VDISABLE FILESIZEBITS POSIX_ALLOC_SIZE_MIN POSIX_REC_INCR_XFER_SIZE POSIX_REC_MAX_XFER_SIZE " +
	"POSIX_REC_MIN_XFER_SIZE POSIX_REC_XFER_ALIGN SYMLINK_MAX POSIX2_SYMLINKS")

func getconf(_ context.Context, p *proc.Process) int {
	usage := func() int {
		p.Err.WriteString("Usage: getconf [-v specification] variable_name [pathname]\n       getconf -a [pathname]\n")
		return 2
	}
	args := p.Args[1:]
	if len(args) > 0 {
		switch args[0] {
		case "--help":
			p.Out.WriteString("Usage: getconf [-v SPEC] VAR\n  or:  getconf [-v SPEC] PATH_VAR PATH\n\nGet the configuration value for variable VAR, or for variable PATH_VAR\nfor path PATH.  If SPEC is given, give values for compilation\nenvironment SPEC.\n")
			return 0
		case "--version":
			p.Out.WriteString("getconf (Debian GLIBC 2.36) 2.36\n")
			return 0
		}
	}
	if len(args) > 0 && args[0] == "-a" {
		if len(args) > 2 {
			return usage()
		}
		for line := range strings.Lines(getconfTable) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			p.Out.WriteString(name + strings.Repeat(" ", max(35-len(name), 1)) + value + "\n")
		}
		return 0
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-v") {
		if args[0] == "-v" {
			args = args[1:]
		}
		if len(args) == 0 {
			return usage()
		}
		args = args[1:]
	}
	if len(args) == 0 || len(args) > 2 {
		return usage()
	}
	name := args[0]
	if pathLimits[name] != (len(args) == 2) {
		if len(args) == 1 || strings.Contains(getconfTable, "\n"+name+" ") || strings.Contains(getconfTable, "\n"+name+"\n") {
			return usage()
		}
	}
	for line := range strings.Lines(getconfTable) {
		n, value, defined := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if n != name && (n != "CS_PATH" || name != "PATH") {
			continue
		}
		if len(args) == 2 {
			if _, err := p.Stat(args[1]); err != nil {
				p.Errorf("pathconf: %s: %s", args[1], proc.Strerror(err))
				return 3
			}
		}
		if !defined && !strings.HasSuffix(n, "FLAGS") && !strings.HasSuffix(n, "LIBS") {
			value = "undefined"
		}
		p.Out.WriteString(value + "\n")
		return 0
	}
	p.Errorf("Unrecognized variable `%s'", name)
	return 2
}
