package program

import "github.com/pgbox/pgbox/gateway/shell/proc"

// Program is an external program of the sandbox.
type Program struct {
	Run    proc.Func
	Does   string // one line
	Differ string // known differences from the real one, "" for none
}

// Table is programs by name.
type Table map[string]Program
