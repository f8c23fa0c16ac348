// Package lang holds awk, sed, bc, dc, ed and make. [Programs] is its table.
package lang

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"awk":  {Run: awkMain, Does: "pattern scanning and text processing (gawk)"},
	"bc":   {Run: bcMain, Does: "arbitrary precision calculator"},
	"dc":   {Run: dcMain, Does: "reverse polish calculator"},
	"ed":   {Run: edMain, Does: "edit text line by line"},
	"gawk": {Run: awkMain, Does: "pattern scanning and text processing"},
	"make": {Run: makeMain, Does: "build what is out of date (GNU make)", Differ: "no archive members; sh is bash"},
	"mawk": {Run: awkMain, Does: "pattern scanning and text processing (gawk)"},
	"nawk": {Run: awkMain, Does: "process text with a program"},
	"sed":  {Run: sedCommand, Does: "edit text as it streams"},
}
