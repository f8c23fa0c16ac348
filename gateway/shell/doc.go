// Package shell is a bash 5.2 evaluator over an in-memory sandbox.
//
// [Run] executes one script. It sees the sandbox's files through a [vfs.FS], runs external
// programs from a table of [proc.Func] (a program exists when a file of that name is found through $PATH in the
// sandbox's tree; the file "#!/bin/builtin NAME" runs NAME) and never touches the host.
//
// # How it is built
//
// The parser is mvdan.cc/sh/v3/syntax; compile.go turns its tree into the immutable one of ast.go, in which arithmetic
// and subscripts are texts that are expanded and then parsed, as bash does. One [Shell] is one shell environment
// (a "process"): the main script, a ( ) or pipeline stage, a command substitution, a background job. Environments share
// variables copy-on-write. Stages of a pipeline and background jobs are goroutines; pipes, here-documents and
// process substitutions live in memory.
//
// # Ending
//
// exit, set -e and fatal expansion errors unwind with panics that the environment's own loop recovers; break, continue
// and return are flags. A used-up budget or a cancelled context unwinds everything. No goroutine outlives Run.
package shell
