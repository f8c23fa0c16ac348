package program

import "github.com/pgbox/pgbox/gateway/shell/proc"

// ByteLocale reports whether the locale makes characters of single bytes.
func ByteLocale(p *proc.Process) bool { return p.ByteLocale() }
