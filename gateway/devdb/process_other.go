//go:build !linux

package devdb

import "syscall"

// dieWithParent is a service of Linux; elsewhere the next Start ends the server.
func dieWithParent(*syscall.SysProcAttr) {}
