package command

import "github.com/pgbox/pgbox/gateway/shell/proc"

func byteLocale(p *proc.Process) bool { return p.ByteLocale() }
