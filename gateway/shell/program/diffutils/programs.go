// Package diffutils holds diff, diff3, cmp and patch. [Programs] is its table.
package diffutils

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"cmp":   {Run: cmpCommand, Does: "compare two files byte by byte"},
	"diff":  {Run: diffCommand, Does: "compare files line by line"},
	"diff3": {Run: diff3, Does: "compare three files line by line"},
	"patch": {Run: patchMain, Does: "apply a diff"},
	"sdiff": {Run: sdiff, Does: "compare files side by side"},
}
