// Package procps holds processes. [Programs] is its table.
package procps

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"killall": {Run: killall, Does: "signal processes by name", Differ: "processes of this exec only"},
	"pgrep":   {Run: pgrep, Does: "find processes by name", Differ: "processes of this exec only"},
	"pidof":   {Run: pidof, Does: "process ids of a program", Differ: "processes of this exec only"},
	"pkill":   {Run: pgrep, Does: "signal processes by name", Differ: "processes of this exec only"},
	"ps":      {Run: ps, Does: "list processes", Differ: "those of this exec; memory and CPU time are the exec's"},
	"pstree":  {Run: pstree, Does: "show processes as a tree", Differ: "processes of this exec only"},
	"top":     {Run: top, Does: "list processes as a screen", Differ: "-b only; once without -n"},
	"watch":   {Run: watch, Does: "run a program again and again", Differ: "a bounded number of times"},
}
