// Package confine locks a process in: from then on the kernel refuses it every file, TCP port and system call that it
// has no use for, whatever code runs in it. It is the second wall behind the shell, which never asks for them.
//
// Landlock ([Landlock]) takes away files and TCP ports: what is not listed in [Needs] cannot be opened, connected to or
// listened on. A seccomp filter ([seccomp]) takes away system calls: it lists what Go's runtime and its net package
// use, and everything else is EPERM: among others execve, ptrace, mount, bpf, io_uring and namespaces. It also closes
// the ways around Landlock's TCP rules that exist: Multipath TCP, raw sockets and TCP fast open. System calls of
// another architecture (int 0x80) are refused as a whole.
//
// What is in force belongs to the process for good, and to every process that it starts.
//
// [Landlock]: https://docs.kernel.org/userspace-api/landlock.html
// [seccomp]: https://docs.kernel.org/userspace-api/seccomp_filter.html
package confine
