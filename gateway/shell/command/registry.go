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
	"cp":       cp,
	"dirname":  dirname,
	"egrep":    egrep,
	"false":    exitFalse,
	"fgrep":    fgrep,
	"gawk":     awkMain,
	"grep":     grep,
	"ln":       ln,
	"mawk":     awkMain,
	"mkdir":    mkdir,
	"mktemp":   mktemp,
	"mv":       mv,
	"readlink": readlink,
	"realpath": realpath,
	"rm":       rm,
	"rmdir":    rmdir,
	"touch":    touch,
	"true":     exitTrue,
}
