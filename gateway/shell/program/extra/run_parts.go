package extra

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var runPartsSpec = getopt.New("vu:a:Vh",
	"test list verbose=v debug report reverse exit-on-error stdin lsbsysinit new-session regex: umask:=u arg:=a version=V help=h").
	WithHint("Try `%s --help' for more information.")

const runPartsUsage = `Usage: run-parts [OPTION]... DIRECTORY
      --test          print script names which would run, but don't run them.
      --list          print names of all valid files (can not be used with
                      --test)
  -v, --verbose       print script names before running them.
  -d, --debug         print script names while checking them.
      --report        print script names if they produce output.
      --reverse       reverse execution order of scripts.
      --exit-on-error exit as soon as a script returns with a non-zero exit
                      code.
      --stdin         multiplex stdin to scripts being run, using temporary file
      --lsbsysinit    validate filenames based on LSB sysinit specs.
      --new-session   run each script in a separate process session
      --regex=PATTERN validate filenames based on POSIX ERE pattern PATTERN.
  -u, --umask=UMASK   sets umask to UMASK (octal), default is 022.
  -a, --arg=ARGUMENT  pass ARGUMENT to scripts, use once for each argument.
  -V, --version       output version information and exit.
  -h, --help          display this help and exit.
`

// Names that run-parts takes: by itself, and of --lsbsysinit, which refuses what packages leave behind.
const (
	runPartsName = `^[a-zA-Z0-9_-]+$`
	lsbName      = `^_?([a-z0-9_.]+-)+[a-z0-9]+$|^[a-z0-9][a-z0-9-]*$|^[a-zA-Z0-9_-]+$`
)

var runPartsLeft = []string{".dpkg-old", ".dpkg-dist", ".dpkg-new", ".dpkg-tmp"}

type runPartsRun struct {
	p     *proc.Process
	set   map[string]bool
	args  []string
	umask uint32
	input []byte
	ctx   context.Context
	dir   string
}

func runParts(ctx context.Context, p *proc.Process) int {
	opts, args := runPartsSpec.Parse(p)
	r := &runPartsRun{p: p, set: map[string]bool{}, umask: 0o022, ctx: ctx}
	pattern := runPartsName
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Err.WriteString(runPartsUsage)
			return 0
		case "V":
			p.Out.WriteString("Debian run-parts program, version 5.7\n")
			return 0
		case "a":
			r.args = append(r.args, o.Value)
		case "u":
			n, err := strconv.ParseUint(o.Value, 8, 32)
			if err != nil || n > 0o777 {
				p.Errorf("bad umask value")
				return 1
			}
			r.umask = uint32(n)
		case "regex":
			pattern = o.Value
		case "lsbsysinit":
			pattern = lsbName
			fallthrough
		default:
			r.set[o.Key] = true
		}
	}
	if len(args) != 1 {
		p.Errorf("missing operand")
		runPartsSpec.Hint(p)
	}
	if r.set["list"] && r.set["test"] {
		p.Errorf("--list and --test can not be used together")
		runPartsSpec.Hint(p)
	}
	valid, err := regex.Compile(pattern, regex.Options{Extended: true, Tick: p.Tick})
	if err != nil {
		p.Err.WriteString("Unable to build regexp: Invalid regular expression\n")
		return 1
	}
	r.dir = args[0]
	entries, err := p.ReadDir(args[0])
	if err != nil {
		p.Errorf("failed to open directory %s: %s", args[0], proc.Strerror(err))
		return 1
	}
	if r.set["stdin"] {
		if r.input, err = p.ReadAll(p.Stdin); err != nil {
			p.Errorf("failed to read from stdin: %s", proc.Strerror(err))
			return 1
		}
		defer p.Release(cap(r.input))
	}
	if r.set["reverse"] {
		slices.Reverse(entries)
	}
	status := 0
	for _, e := range entries {
		p.Tick(1)
		if !valid.Match([]byte(e.Name)) || r.set["lsbsysinit"] && slices.ContainsFunc(runPartsLeft,
			func(s string) bool { return strings.HasSuffix(e.Name, s) }) {
			continue
		}
		if s := r.part(r.dir + "/" + e.Name); s != 0 {
			status = 1
			if r.set["exit-on-error"] {
				return status
			}
		}
	}
	return status
}

// part runs a script, or prints its name.
func (r *runPartsRun) part(name string) int {
	p := r.p
	if r.set["debug"] {
		p.Out.Flush()
		p.Err.WriteString("run-parts: checking " + name + "\n")
	}
	st, err := p.Stat(name)
	switch {
	case err != nil:
		p.Errorf("failed to stat component %s: %s", name, proc.Strerror(err))
		return 0
	case st.IsDir():
		return 0
	case st.Kind != vfs.Regular:
		p.Errorf("component %s is not an executable plain file", name)
		return 1
	case r.set["list"]:
		p.Out.WriteString(name + "\n")
		return 0
	case p.Executable(name) != nil:
		return 0
	case r.set["test"]:
		p.Out.WriteString(name + "\n")
		return 0
	}
	if r.set["v"] {
		p.Out.Flush()
		p.Err.WriteString("run-parts: executing " + name + "\n")
	}
	child := p.Child(append([]string{name}, r.args...)...)
	child.Umask = r.umask
	if r.set["stdin"] {
		child.Stdin = bytes.NewReader(r.input)
	}
	var out *proc.Buffer
	if r.set["report"] {
		out = proc.NewBuffer(p)
		child.Stdout = out
	}
	status := p.Exec(r.ctx, child)
	if out != nil && out.Len() > 0 {
		p.Out.WriteString(name + ":\n")
		p.Out.Write(out.Bytes())
		p.Release(out.Len())
	}
	if status > 128 {
		p.Errorf("%s exited because of uncaught signal %d", name, status-128)
	} else if status != 0 {
		p.Errorf("%s exited with return code %d", name, status)
	}
	return status
}
