package command

import (
	"maps"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/program/archive"
	"github.com/pgbox/pgbox/gateway/shell/program/coreutils/file"
	"github.com/pgbox/pgbox/gateway/shell/program/coreutils/sum"
	"github.com/pgbox/pgbox/gateway/shell/program/coreutils/sys"
	"github.com/pgbox/pgbox/gateway/shell/program/coreutils/text"
	"github.com/pgbox/pgbox/gateway/shell/program/data"
	"github.com/pgbox/pgbox/gateway/shell/program/diffutils"
	"github.com/pgbox/pgbox/gateway/shell/program/extra"
	"github.com/pgbox/pgbox/gateway/shell/program/findutils"
	"github.com/pgbox/pgbox/gateway/shell/program/grep"
	"github.com/pgbox/pgbox/gateway/shell/program/lang"
	"github.com/pgbox/pgbox/gateway/shell/program/procps"
	"github.com/pgbox/pgbox/gateway/shell/program/utillinux"
)

// own are the programs that tell of the others.
var own = program.Table{
	"apropos": {Run: apropos, Does: "search what commands do"},
	"man":     {Run: man, Does: "say what a command does", Differ: "a short page: what it does and how it differs"},
	"whatis":  {Run: apropos, Does: "one line about a command"},
}

var (
	table    = program.Table{}
	registry = map[string]proc.Func{}
)

// The manual's programs read the table that they are in.
func init() {
	for _, family := range []program.Table{
		own, archive.Programs, file.Programs, sum.Programs, sys.Programs, text.Programs, data.Programs, diffutils.Programs,
		extra.Programs, findutils.Programs, grep.Programs, lang.Programs, procps.Programs, utillinux.Programs,
	} {
		for name, p := range family {
			if _, twice := table[name]; twice {
				panic("two programs are called " + name)
			}
			table[name], registry[name] = p, p.Run
		}
	}
}

// All returns the programs by name. The map is the caller's.
func All() map[string]proc.Func { return maps.Clone(registry) }

// Table returns the programs by name, with what is said of them. The map is shared: it must not be changed.
func Table() program.Table { return table }
