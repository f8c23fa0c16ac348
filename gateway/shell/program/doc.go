// Package program is the kernel of the sandbox's external programs: what a program is ([Program], [Table]), and what
// many of them need (operands, sizes, modes, quotes, numbers, paths). The programs themselves are in the families
// below, each of which has one table.
//
// Programs follow their GNU originals on Debian 12 in output, messages and exit status. They read and write through
// [proc.Process] only; nothing here touches the host.
package program
