// Package wasi lets WebAssembly programs be commands of a sandbox: it is the system they run on, WASI preview 1
// (https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md), over the sandbox's own files and streams.
//
// The code of a program does not run in this process. A [proc.Machine] is a process of its own that can do nothing but
// compute and talk to us through one connection: it sends each system call as a frame ([Call]) and [Command] answers it
// from the [proc.Process] that the command was started as. So a program sees the tree of its sandbox and nothing else,
// its files count against the same budget, and ending it is ending a process.
//
// What preview 1 has no call for (modes, owners, pipes, children) is asked for by files that only such a program can
// open: see [ControlPath].
package wasi
