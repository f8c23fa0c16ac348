// Package findutils holds find and xargs. [Programs] is its table.
package findutils

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"find":  {Run: findCommand, Does: "look for files in a tree"},
	"xargs": {Run: xargs, Does: "build and run command lines from input"},
}
