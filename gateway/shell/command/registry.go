package command

import (
	"maps"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// All returns the commands by name. The map is the caller's.
func All() map[string]proc.Func { return maps.Clone(registry) }

// registry is sorted by name; one line per name.
var registry = map[string]proc.Func{
	"awk":      awkMain,
	"basename": basename,
	"cat":      cat,
	"chmod":    chmod,
	"comm":     comm,
	"cp":       cp,
	"cut":      cut,
	"date":     date,
	"diff":     diffCommand,
	"dir":      dir,
	"dirname":  dirname,
	"egrep":    egrep,
	"env":      env,
	"false":    exitFalse,
	"fgrep":    fgrep,
	"find":     findCommand,
	"gawk":     awkMain,
	"grep":     grep,
	"head":     head,
	"jq":       jqMain,
	"ln":       ln,
	"ls":       ls,
	"mawk":     awkMain,
	"mkdir":    mkdir,
	"mktemp":   mktemp,
	"mv":       mv,
	"paste":    paste,
	"readlink": readlink,
	"realpath": realpath,
	"rev":      rev,
	"rm":       rm,
	"rmdir":    rmdir,
	"sed":      sedCommand,
	"sleep":    sleep,
	"sort":     sortMain,
	"stat":     statMain,
	"tac":      tac,
	"tail":     tail,
	"tee":      tee,
	"timeout":  timeout,
	"touch":    touch,
	"tr":       tr,
	"true":     exitTrue,
	"uniq":     uniq,
	"vdir":     vdir,
	"wc":       wc,
	"which":    which,
	"xargs":    xargs,
}
