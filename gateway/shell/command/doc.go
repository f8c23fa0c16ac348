// Package command holds the external programs of the sandbox: one file per
// command, each a [proc.Func], listed in the table of registry.go.
//
// Commands follow GNU coreutils 9.1 in output, messages and exit status. They read and write through
// [proc.Process] only; nothing here touches the host.
package command
