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
	"dirname":  dirname,
	"egrep":    egrep,
	"false":    exitFalse,
	"fgrep":    fgrep,
	"gawk":     awkMain,
	"grep":     grep,
	"mawk":     awkMain,
	"true":     exitTrue,
}
