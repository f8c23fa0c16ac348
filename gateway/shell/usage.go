package shell

import (
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
)

// Usage is what help and the page of commands say of a builtin.
type Usage struct {
	Name     string
	Synopsis string
	Does     string // one line
	Differ   string // known differences from bash, "" for none
}

// Usages returns the builtins' descriptions, by name. The slice is shared: it must not be changed.
func Usages() []Usage { return usages }

// usages is sorted by name; one line per builtin.
var usages = []Usage{
	{Name: ".", Synopsis: ". filename [arguments]", Does: "run the commands of a file in this shell"},
	{Name: ":", Synopsis: ":", Does: "do nothing, successfully"},
	{Name: "[", Synopsis: "[ arg... ]", Does: "evaluate a condition, like test"},
	{Name: "alias", Synopsis: "alias [-p] [name[=value] ... ]", Does: "define or show aliases"},
	{Name: "bg", Synopsis: "bg [job_spec ...]", Does: "move jobs to the background", Differ: "there is no job control"},
	{Name: "bind", Synopsis: "bind [-lpsvPSVX] [-m keymap] [-f filename] [-q name] [-u name] [-r keyseq] [-x keyseq:shell-command] [keyseq:readline-function or readline-command]", Does: "show or set key bindings", Differ: "there is no line editing"},
	{Name: "break", Synopsis: "break [n]", Does: "leave loops"},
	{Name: "builtin", Synopsis: "builtin [shell-builtin [arg ...]]", Does: "run a builtin, never a function"},
	{Name: "caller", Synopsis: "caller [expr]", Does: "show the place of the current call"},
	{Name: "cd", Synopsis: "cd [-L|[-P [-e]] [-@]] [dir]", Does: "change the working directory"},
	{Name: "command", Synopsis: "command [-pVv] command [arg ...]",
		Does: "run a command, never a function, or say what it is"},
	{Name: "compgen",
		Synopsis: "compgen [-abcdefgjksuv] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] [-C command] [-X filterpat] [-P prefix] [-S suffix] [word]", Does: "show completions of a word"},
	{Name: "complete",
		Synopsis: "complete [-abcdefgjksuv] [-pr] [-DEI] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] [-C command] [-X filterpat] [-P prefix] [-S suffix] [name ...]", Does: "say how words are completed"},
	{Name: "compopt", Synopsis: "compopt [-o|+o option] [-DEI] [name ...]", Does: "change completion options",
		Differ: "nothing is ever completed"},
	{Name: "continue", Synopsis: "continue [n]", Does: "go on with the next turn of loops"},
	{Name: "declare", Synopsis: "declare [-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]",
		Does: "set values and attributes of variables"},
	{Name: "dirs", Synopsis: "dirs [-clpv] [+N] [-N]", Does: "show the directory stack"},
	{Name: "disown", Synopsis: "disown [-h] [-ar] [jobspec ... | pid ...]", Does: "forget jobs"},
	{Name: "echo", Synopsis: "echo [-neE] [arg ...]", Does: "print arguments"},
	{Name: "enable", Synopsis: "enable [-a] [-dnps] [-f filename] [name ...]", Does: "turn builtins on and off",
		Differ: "loads no files"},
	{Name: "eval", Synopsis: "eval [arg ...]", Does: "run arguments as a command"},
	{Name: "exec", Synopsis: "exec [-cl] [-a name] [command [argument ...]] [redirection ...]",
		Does: "replace the shell by a command, or change its descriptors"},
	{Name: "exit", Synopsis: "exit [n]", Does: "end the shell"},
	{Name: "export", Synopsis: "export [-fn] [name[=value] ...] or export -p", Does: "give variables to commands"},
	{Name: "false", Synopsis: "false", Does: "do nothing, unsuccessfully"},
	{Name: "fc", Synopsis: "fc [-e ename] [-lnr] [first] [last] or fc -s [pat=rep] [command]",
		Does: "show or repeat earlier commands", Differ: "there is no editor: it lists and repeats only"},
	{Name: "fg", Synopsis: "fg [job_spec]", Does: "move a job to the foreground", Differ: "there is no job control"},
	{Name: "getopts", Synopsis: "getopts optstring name [arg ...]", Does: "parse options"},
	{Name: "hash", Synopsis: "hash [-lr] [-p pathname] [-dt] [name ...]", Does: "remember where programs are"},
	{Name: "help", Synopsis: "help [-dms] [pattern ...]", Does: "describe builtins", Differ: "one line each"},
	{Name: "history", Synopsis: "history [-c] [-d offset] [n] or history -anrw [filename] or history -ps arg [arg...]",
		Does: "show earlier commands", Differ: "-a writes everything, -n reads everything"},
	{Name: "jobs", Synopsis: "jobs [-lnprs] [jobspec ...] or jobs -x command [args]", Does: "show jobs"},
	{Name: "kill", Synopsis: "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]",
		Does: "send a signal", Differ: "processes of this exec only"},
	{Name: "let", Synopsis: "let arg [arg ...]", Does: "evaluate arithmetic"},
	{Name: "local", Synopsis: "local [option] name[=value] ...", Does: "make variables of a function"},
	{Name: "logout", Synopsis: "logout [n]", Does: "end a login shell"},
	{Name: "mapfile",
		Synopsis: "mapfile [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]",
		Does:     "read lines into an array"},
	{Name: "popd", Synopsis: "popd [-n] [+N | -N]", Does: "remove from the directory stack"},
	{Name: "printf", Synopsis: "printf [-v var] format [arguments]", Does: "print by a format"},
	{Name: "pushd", Synopsis: "pushd [-n] [+N | -N | dir]", Does: "add to the directory stack"},
	{Name: "pwd", Synopsis: "pwd [-LP]", Does: "print the working directory"},
	{Name: "read", Synopsis: "read [-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N nchars] [-p prompt] [-t timeout] [-u fd] [name ...]", Does: "read a line and split it"},
	{Name: "readarray",
		Synopsis: "readarray [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]",
		Does:     "read lines into an array"},
	{Name: "readonly", Synopsis: "readonly [-aAf] [name[=value] ...] or readonly -p", Does: "forbid changes of variables"},
	{Name: "return", Synopsis: "return [n]", Does: "return from a function or sourced file"},
	{Name: "set", Synopsis: "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]",
		Does: "set shell options and positional parameters"},
	{Name: "shift", Synopsis: "shift [n]", Does: "drop positional parameters"},
	{Name: "shopt", Synopsis: "shopt [-pqsu] [-o] [optname ...]", Does: "set and show shell options"},
	{Name: "source", Synopsis: "source filename [arguments]", Does: "run the commands of a file in this shell"},
	{Name: "suspend", Synopsis: "suspend [-f]", Does: "stop the shell", Differ: "there is no job control"},
	{Name: "test", Synopsis: "test [expr]", Does: "evaluate a condition"},
	{Name: "times", Synopsis: "times", Does: "show the time used", Differ: "elapsed time counts as user time"},
	{Name: "trap", Synopsis: "trap [-lp] [[arg] signal_spec ...]", Does: "run a command when a signal or event comes"},
	{Name: "true", Synopsis: "true", Does: "do nothing, successfully"},
	{Name: "type", Synopsis: "type [-afptP] name [name ...]", Does: "say what a name means"},
	{Name: "typeset", Synopsis: "typeset [-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]",
		Does: "set values and attributes of variables"},
	{Name: "ulimit", Synopsis: "ulimit [-SHabcdefiklmnpqrstuvxPRT] [limit]", Does: "show limits",
		Differ: "the limits of an exec are its own; what is set is remembered without effect"},
	{Name: "umask", Synopsis: "umask [-p] [-S] [mode]", Does: "show or set the mask of new files"},
	{Name: "unalias", Synopsis: "unalias [-a] name [name ...]", Does: "remove aliases"},
	{Name: "unset", Synopsis: "unset [-f] [-v] [-n] [name ...]", Does: "remove variables and functions"},
	{Name: "wait", Synopsis: "wait [-fn] [-p var] [id ...]", Does: "wait for jobs"},
}

// usageLine is what a builtin prints after a message about its arguments.
func usageLine(name string) string {
	i := slices.IndexFunc(usages, func(u Usage) bool { return u.Name == name })
	return name + ": usage: " + usages[i].Synopsis + "\n"
}

func builtinHelp(sh *Shell, args []string) int {
	args = args[1:]
	modes := ""
	for c := range letters(&args) {
		if strings.IndexByte("dms", c) < 0 {
			return sh.usage("help", "-"+string(c))
		}
		modes += string(c)
	}
	if len(args) == 0 {
		sh.out("GNU bash, version " + bashVersion +
			" (x86_64-pc-linux-gnu)\nThese shell commands are defined internally. `help name' describes one, `ls /usr/bin' lists the programs.\n\n")
		for _, u := range usages {
			sh.out(" " + u.Synopsis + "\n")
		}
		return 0
	}
	if isPattern := func(a string) bool {
		return strings.ContainsAny(a, "*?[") && a != "[" && a != "[["
	}; slices.ContainsFunc(args, isPattern) {
		many := "s"
		if len(args) == 1 {
			many = ""
		}
		sh.out("Shell commands matching keyword" + many + " `" + strings.Join(args, ", ") + "'\n\n")
	}
	status := 1
	for _, a := range args {
		p := pattern.Compile(a, 0, sh.readStep)
		exact := slices.ContainsFunc(usages, func(u Usage) bool { return u.Name == a })
		for _, u := range usages {
			// Like bash, a topic may be given by its beginning.
			if u.Name != a && (exact || !p.Match(u.Name) && !strings.HasPrefix(u.Name, a)) {
				continue
			}
			status = 0
			does := strings.ToUpper(u.Does[:1]) + u.Does[1:] + "."
			differ := ""
			if u.Differ != "" {
				differ = "    Here: " + u.Differ + ".\n"
			}
			switch {
			case strings.Contains(modes, "d"):
				sh.out(u.Name + " - " + does + "\n")
			case strings.Contains(modes, "m"):
				sh.out("NAME\n    " + u.Name + " - " + does + "\n\nSYNOPSIS\n    " + u.Synopsis + "\n\nDESCRIPTION\n    " + does +
					"\n" + differ + "\nSEE ALSO\n    bash(1)\n\n")
			case modes != "":
				sh.out(u.Name + ": " + u.Synopsis + "\n")
			default:
				sh.out(u.Name + ": " + u.Synopsis + "\n    " + does + "\n" + differ)
			}
		}
	}
	if status != 0 {
		last := args[len(args)-1]
		sh.errorf("help: no help topics match `%s'.  Try `help help' or `man -k %s' or `info %s'.", last, last, last)
	}
	return status
}

// Differences are what is known to differ from bash in the language itself, a line each.
func Differences() []string { return differences }

var differences = []string{
	"A text is parsed as a whole, so lines before a syntax error run. What follows a line that changes an alias or extglob is read anew.",
	"A few syntax errors, of reserved words behind a redirection or in a coproc above all, are worded differently; the status is the same.",
	"Names of files must be UTF-8.",
	"Inside a here-document aliases are not expanded in `$( )`; a newline between a word and its operator in `[[ ]]` is accepted.",
	"`time` and `times` show elapsed time as user time.",
	"There are no terminals and no job control: `bash -i` prompts, reads its files and keeps a history, on any standard input. `/dev/tcp` and `/dev/udp` say that there is no network.",
	"`sh` has the messages, statuses and echo of Debian's dash, and bash's language in POSIX mode.",
	"Permissions of files are kept and shown; reading and writing are not denied by them.",
	"`/proc` has the processes of the exec (cmdline, comm, cwd, environ, exe, fd, stat, status) and the usual files of the machine, with made-up values and their true sizes; it is not listed in `/`. " +
		"A process reads its own environment, directory and descriptors only, and a redirection those of no process. `/proc/PID/maps`, `smaps`, `io` and `net`, `/sys` and `/dev/shm` are absent, because nothing in a sandbox has them.",
	"Times of access are not kept: that of a change is shown, so that reading a file changes nothing in the database.",
	"`LC_ALL=C` makes bytes of characters; `printf %q`, `declare -p` and `\\u` show them as in UTF-8.",
	"Each of these, and what single commands do differently, is replayed from testdata/known-differences.cases.",
}
