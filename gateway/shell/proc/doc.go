// Package proc is the contract between the bash evaluator and the commands it
// runs: what a command sees of its sandbox (a [Process]), what the sandbox is
// made of (an [FS]), and what bounds it (a [Budget]).
//
// A command is a [Func]. It reads p.Args, p.Stdin and files through the methods
// of [Process] (which resolve relative names against p.Dir and know /dev/stdin
// and /dev/fd/N), prints to p.Out and p.Err, and returns its exit status. It never touches
// the host: no os, os/exec, net or user look-ups.
//
// # Dying
//
// A command that must stop at once panics with a [Death]; [Run] recovers it and
// turns it into an exit status. This is how a write to a closed pipe (SIGPIPE,
// status 141), a used-up budget and a cancelled exec end a command from any
// depth of its loops. Long loops call [Process.Tick]; it is a few
// nanoseconds when nothing is wrong. Goroutines a command starts must not
// call methods that can die; they hand errors back to the command's own goroutine.
package proc
