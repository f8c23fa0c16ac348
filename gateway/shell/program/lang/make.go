package lang

import (
	"context"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/makefile"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var makeSpec = getopt.New("bmBC:dE:ef:hiI:j::kl::Lno:O::pqrRsStvwW:",
	"always-make=B directory:=C debug:: environment-overrides=e eval:=E file:=f makefile:=f help=h ignore-errors=i include-dir:=I jobs::=j keep-going=k "+
		"load-average::=l max-load::=l check-symlink-times=L just-print=n dry-run=n recon=n assume-old:=o old-file:=o output-sync::=O print-data-base=p "+
		"question=q no-builtin-rules=r no-builtin-variables=R silent=s quiet=s no-keep-going=S stop=S touch=t version=v print-directory=w no-print-directory "+
		"what-if:=W new-file:=W assume-new:=W warn-undefined-variables trace").WithStatus(2)

const makeUsage = `Usage: make [options] [target] ...
Options:
  -b, -m                      Ignored for compatibility.
  -B, --always-make           Unconditionally make all targets.
  -C DIRECTORY, --directory=DIRECTORY
                              Change to DIRECTORY before doing anything.
  -d                          Print lots of debugging information.
  --debug[=FLAGS]             Print various types of debugging information.
  -e, --environment-overrides
                              Environment variables override makefiles.
  -E STRING, --eval=STRING    Evaluate STRING as a makefile statement.
  -f FILE, --file=FILE, --makefile=FILE
                              Read FILE as a makefile.
  -h, --help                  Print this message and exit.
  -i, --ignore-errors         Ignore errors from recipes.
  -I DIRECTORY, --include-dir=DIRECTORY
                              Search DIRECTORY for included makefiles.
  -j [N], --jobs[=N]          Allow N jobs at once; infinite jobs with no arg.
  -k, --keep-going            Keep going when some targets can't be made.
  -l [N], --load-average[=N], --max-load[=N]
                              Don't start multiple jobs unless load is below N.
  -L, --check-symlink-times   Use the latest mtime between symlinks and target.
  -n, --just-print, --dry-run, --recon
                              Don't actually run any recipe; just print them.
  -o FILE, --old-file=FILE, --assume-old=FILE
                              Consider FILE to be very old and don't remake it.
  -O[TYPE], --output-sync[=TYPE]
                              Synchronize output of parallel jobs by TYPE.
  -p, --print-data-base       Print make's internal database.
  -q, --question              Run no recipe; exit status says if up to date.
  -r, --no-builtin-rules      Disable the built-in implicit rules.
  -R, --no-builtin-variables  Disable the built-in variable settings.
  -s, --silent, --quiet       Don't echo recipes.
  --no-silent                 Echo recipes (disable --silent mode).
  -S, --no-keep-going, --stop
                              Turns off -k.
  -t, --touch                 Touch targets instead of remaking them.
  --trace                     Print tracing information.
  -v, --version               Print the version number of make and exit.
  -w, --print-directory       Print the current directory.
  --no-print-directory        Turn off -w, even if it was turned on implicitly.
  -W FILE, --what-if=FILE, --new-file=FILE, --assume-new=FILE
                              Consider FILE to be infinitely new.
  --warn-undefined-variables  Warn when an undefined variable is referenced.

This program built for x86_64-pc-linux-gnu
Report bugs to <bug-make@gnu.org>
`

const makeVersion = `GNU Make 4.3
Built for x86_64-pc-linux-gnu
This is pgbox's own implementation, compatible with that version.
`

func makeMain(ctx context.Context, p *proc.Process) int {
	o := makefile.Options{Command: p.Args[0]}
	inherited := makeFlags(p.Getenv("MAKEFLAGS"))
	opts, _, err := makeSpec.Scan(inherited)
	if err == nil {
		for _, opt := range opts {
			makeOption(p, &o, opt, true)
		}
		for i, a := range inherited {
			if a == "--" {
				o.Assignments = inherited[i+1:]
			}
		}
	}
	args := p.Args[1:]
	for i, a := range args { // the N of -j may be a word of its own
		if (a == "-j" || a == "-l" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") &&
			strings.HasSuffix(a, "j")) && i+1 < len(args) {
			if _, err := strconv.ParseFloat(args[i+1], 64); err == nil {
				args = append(append(append([]string{}, args[:i]...), a+args[i+1]), args[i+2:]...)
				break
			}
		}
	}
	opts, operands, err := makeSpec.Scan(args)
	if err != nil {
		p.Errorf("%v", err)
		p.Err.WriteString(makeUsage)
		return 2
	}
	for _, opt := range opts {
		if status, done := makeOption(p, &o, opt, false); done {
			return status
		}
	}
	for _, a := range operands {
		switch {
		case a == "":
		case makefile.IsAssignment(a):
			o.Assignments = append(o.Assignments, a)
		default:
			o.Goals = append(o.Goals, a)
		}
	}
	return makefile.New(ctx, p, o).Run()
}

// makeOption takes one option. Those that are inherited leave the directory and the files alone.
func makeOption(p *proc.Process, o *makefile.Options, opt getopt.Option, inherited bool) (status int, done bool) {
	switch opt.Key {
	case "B":
		o.AlwaysMake = true
	case "C":
		if inherited {
			break
		}
		full, err := p.FS.Realpath(p.Abs(opt.Value))
		if err == nil {
			var st vfs.Stat
			if st, err = p.FS.Stat(full); err == nil && !st.IsDir() {
				p.Err.WriteString(p.Name() + ": *** " + opt.Value + ": Not a directory.  Stop.\n")
				return 2, true
			}
		}
		if err != nil {
			p.Err.WriteString(p.Name() + ": *** " + opt.Value + ": " + proc.Strerror(err) + ".  Stop.\n")
			return 2, true
		}
		p.Dir, o.Chdir = full, true
	case "d", "debug":
		o.Debug = true
	case "E":
		o.Eval = append(o.Eval, opt.Value)
	case "e":
		o.Environment = true
	case "f":
		o.Files = append(o.Files, opt.Value)
	case "h":
		p.Out.WriteString(makeUsage)
		return 0, true
	case "v":
		p.Out.WriteString(makeVersion)
		return 0, true
	case "i":
		o.IgnoreErrors = true
	case "I":
		o.Include = append(o.Include, opt.Value)
	case "j":
		o.Jobs = -1
		if opt.Has {
			n, err := strconv.Atoi(opt.Value)
			if err != nil || n < 1 {
				p.Errorf("the '-j' option requires a positive integer argument")
				p.Err.WriteString(makeUsage)
				return 2, true
			}
			o.Jobs = n
		}
	case "k":
		o.KeepGoing = true
	case "S":
		o.KeepGoing = false
	case "n":
		o.DryRun = true
	case "o":
		o.Old = append(o.Old, opt.Value)
	case "O":
		o.Sync = "target"
		if opt.Has {
			o.Sync = opt.Value
		}
	case "p":
		o.PrintDatabase = true
	case "q":
		o.Question = true
	case "r":
		o.NoBuiltinRules = true
	case "R":
		o.NoBuiltinRules, o.NoBuiltinVars = true, true
	case "s":
		o.Silent = true
	case "t":
		o.Touch = true
	case "w":
		o.PrintDir = true
	case "no-print-directory":
		o.NoPrintDir = true
	case "W":
		o.New = append(o.New, opt.Value)
	case "warn-undefined-variables":
		o.WarnUndefined = true
	case "trace":
		o.Trace = true
	}
	return 0, false
}

// makeFlags splits MAKEFLAGS: its first word may lack the dash, and a backslash quotes.
func makeFlags(s string) []string {
	var out []string
	var word strings.Builder
	in := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			in = true
		case c == ' ' || c == '\t':
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if in {
		out = append(out, word.String())
	}
	if len(out) > 0 && s[0] != ' ' && !strings.HasPrefix(out[0], "-") && !strings.Contains(out[0], "=") {
		out[0] = "-" + out[0]
	}
	return out
}
