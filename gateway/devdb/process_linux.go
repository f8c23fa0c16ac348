package devdb

import "syscall"

// dieWithParent asks the kernel to send the server SIGINT (a fast shutdown)
// when the thread that started it goes.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
