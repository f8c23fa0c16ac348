// Package lang holds awk, sed, bc, dc, ed, make and python3. [Programs] is its table.
package lang

import (
	"github.com/pgbox/pgbox/gateway/shell/lang/python"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

const (
	doesPython   = "the Python language, 3.12"
	differPython = "where the server has it; no threads (executors run in line), no sockets, no C extensions; subprocess runs the sandbox's own commands"
	doesPip      = "install Python packages"
	differPip    = "from wheels that are files of the sandbox, without C extensions; there is no network"
)

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"awk":        {Run: awkMain, Does: "pattern scanning and text processing (gawk)"},
	"bc":         {Run: bcMain, Does: "arbitrary precision calculator"},
	"dc":         {Run: dcMain, Does: "reverse polish calculator"},
	"ed":         {Run: edMain, Does: "edit text line by line"},
	"gawk":       {Run: awkMain, Does: "pattern scanning and text processing"},
	"make":       {Run: makeMain, Does: "build what is out of date (GNU make)", Differ: "no archive members; sh is bash"},
	"mawk":       {Run: awkMain, Does: "pattern scanning and text processing (gawk)"},
	"nawk":       {Run: awkMain, Does: "process text with a program"},
	"pip":        {Run: python.Pip, Does: doesPip, Differ: differPip},
	"pip3":       {Run: python.Pip, Does: doesPip, Differ: differPip},
	"python":     {Run: python.Run, Does: doesPython, Differ: differPython},
	"python3":    {Run: python.Run, Does: doesPython, Differ: differPython},
	"python3.12": {Run: python.Run, Does: doesPython, Differ: differPython},
	"sed":        {Run: sedCommand, Does: "edit text as it streams"},
}
