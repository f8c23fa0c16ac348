package text

import (
	"context"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var sortSpec = getopt.New("bcCdfghik:mMno:rRsS:t:T:uVy::z",
	"ignore-leading-blanks=b check::=check compress-program: debug dictionary-order=d ignore-case=f files0-from: "+
		"general-numeric-sort=g ignore-nonprinting=i key:=k merge=m month-sort=M numeric-sort=n human-numeric-sort=h "+
		"version-sort=V random-sort=R random-source: sort: output:=o reverse=r stable=s batch-size: buffer-size:=S "+
		"field-separator:=t temporary-directory:=T unique=u zero-terminated=z parallel:").WithStatus(2).
	WithUsage("[OPTION]... [FILE]...", "Write sorted concatenation of all FILE(s) to standard output.")

type sorter struct {
	p          *proc.Process
	keys       []sortKey
	tab        int // -1: blanks
	delim      byte
	unique     bool
	stable     bool
	reverse    bool // of the last resort
	lastResort bool
	plain      bool // whole lines, byte order
	debug      bool
	seed       maphash.Seed
}

func (s *sorter) fail(format string, args ...any) {
	s.p.Errorf(format, args...)
	s.p.Exit(2)
}

// A word that an option does not know ends sort with status 1, unlike other mistakes.
var sortWords = func() *getopt.Spec {
	s := *sortSpec
	return s.WithStatus(1)
}()

func sortMain(_ context.Context, p *proc.Process) int {
	p.Out.ErrorStatus = 2
	if slices.ContainsFunc(p.Args[1:], func(a string) bool { return a != "" && a[0] == '+' }) {
		p.Args = append([]string{p.Args[0]}, modernKeys(p.Args[1:])...)
	}
	opts, args := sortSpec.Parse(p)
	s := &sorter{p: p, tab: -1, delim: '\n', seed: maphash.MakeSeed()}
	global := sortKey{endField: -1, whole: true}
	var check byte
	var output, from string
	var hasOutput, hasFrom, merge bool
	setCheck := func(c byte) {
		if check != 0 && check != c {
			s.fail("options '-cC' are incompatible")
		}
		check = c
	}
	for _, o := range opts {
		switch o.Key {
		case "c", "C":
			setCheck(o.Key[0])
		case "check":
			if o.Has && program.Choose(p, sortWords, "check", o.Value, "quiet silent", "diagnose-first") == "quiet" {
				setCheck('C')
			} else {
				setCheck('c')
			}
		case "sort":
			word := program.Choose(p, sortWords, "sort", o.Value, "general-numeric", "human-numeric", "month", "numeric",
				"random", "version")
			global.set(map[string]byte{"general-numeric": 'g', "human-numeric": 'h', "month": 'M', "numeric": 'n', "random": 'R',
				"version": 'V'}[word], true, true)
		case "k":
			s.keys = append(s.keys, s.parseKey(o.Value))
		case "m":
			merge = true
		case "o":
			if hasOutput && output != o.Value {
				s.fail("multiple output files specified")
			}
			output, hasOutput = o.Value, true
		case "s":
			s.stable = true
		case "S":
			if _, problem := program.ParseCount(strings.TrimSuffix(o.Value, "%"),
				"bkKmMGTPEZY"); problem == program.NumberInvalid {
				if o.Value != "" && program.IsDigit(o.Value[0]) {
					s.fail("invalid suffix in -S argument '%s'", o.Value)
				}
				s.fail("invalid -S argument '%s'", o.Value)
			}
		case "t":
			s.setTab(o.Value)
		case "u":
			s.unique = true
		case "z":
			s.delim = 0
		case "files0-from":
			from, hasFrom = o.Value, true
		case "parallel":
			n, problem := program.ParseCount(o.Value, "")
			if problem == program.NumberInvalid {
				s.fail("invalid --parallel argument '%s'", o.Value)
			}
			if n == 0 {
				s.fail("number in parallel must be nonzero")
			}
		case "batch-size":
			if n, problem := program.ParseCount(o.Value, ""); problem == program.NumberInvalid || n < 2 {
				p.Errorf("invalid --batch-size argument %s", program.Quote(o.Value))
				if problem != program.NumberInvalid {
					p.Errorf("minimum --batch-size argument is ‘2’")
				}
				return 2
			}
		case "debug":
			s.debug = true
		case "T", "y", "compress-program", "random-source":
		default:
			global.set(o.Key[0], true, true)
		}
	}
	if hasFrom {
		if len(args) > 0 {
			p.Errorf("extra operand %s", program.QuoteName(args[0]))
			p.Err.WriteString("file operands cannot be combined with --files0-from\n")
			sortSpec.Hint(p)
		}
		list, ok := program.FilesFrom(p, from, program.QuoteColon, "open failed: %s: %s")
		if !ok {
			return 2
		}
		if len(list) == 0 {
			s.fail("no input from %s", program.QuoteName(from))
		}
		for i, name := range list {
			if name == "" {
				s.fail("%s:%d: invalid zero-length file name", program.QuoteColon(from), i+1)
			}
		}
		args = list
	}
	globalOnly := len(s.keys) == 0
	s.finish(global)
	if s.debug {
		if hasOutput && check == 0 {
			check = 'o'
		}
		if check != 0 {
			s.fail("options '-%c --debug' are incompatible", check)
		}
		s.warnKeys(global, globalOnly)
	}
	if check != 0 {
		if len(args) > 1 {
			s.fail("extra operand %s not allowed with -%c", program.QuoteName(args[1]), check)
		}
		if hasOutput {
			s.fail("options '-%co' are incompatible", check)
		}
		if len(args) == 0 {
			args = []string{"-"}
		}
		return s.check(args[0], check == 'C')
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		// All inputs have to be readable before anything is done.
		if name != "-" {
			if _, err := p.Stat(name); err != nil {
				s.fail("cannot read: %s: %s", program.QuoteColon(name), proc.Strerror(err))
			}
		}
	}
	if merge {
		in := s.sources(args, output, hasOutput)
		return s.output(output, hasOutput, func(w io.Writer) { s.merge(in, w) })
	}
	status := 0
	s.sort(args, func(lines []sortLine, text []byte, runs []*sortSource) {
		status = s.output(output, hasOutput, func(w io.Writer) {
			if len(runs) == 0 {
				s.write(lines, text, w)
				return
			}
			rest := program.NewLineReader(s.p, &sortedBatch{lines: lines, text: text, delim: s.delim}, s.delim)
			s.merge(append(runs, &sortSource{lines: rest, name: "-", done: func() {}}), w)
		})
	})
	return status
}

func (s *sorter) setTab(v string) {
	tab := -1
	switch {
	case v == "":
		s.fail("empty tab")
	case v == `\0`:
		tab = 0
	case len(v) > 1:
		s.fail("multi-character tab %s", program.Quote(v))
	default:
		tab = int(v[0])
	}
	if s.tab >= 0 && s.tab != tab {
		s.fail("incompatible tabs")
	}
	s.tab = tab
}

func (s *sorter) output(name string, has bool, write func(io.Writer)) int {
	if !has {
		if s.debug {
			write(&sortDebugger{s: s, w: s.p.Out})
		} else {
			write(s.p.Out)
		}
		return 0
	}
	f, err := s.p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		s.fail("open failed: %s: %s", program.QuoteColon(name), proc.Strerror(err))
	}
	w := proc.NewWriter(f, s.p)
	write(w)
	w.Flush()
	if err := f.Close(); err != nil {
		s.fail("close failed: %s: %s", program.QuoteColon(name), proc.Strerror(err))
	}
	return 0
}

func (s *sorter) write(lines []sortLine, text []byte, w io.Writer) {
	end := []byte{s.delim}
	var last sortLine
	for i, l := range lines {
		s.p.Tick(1)
		line := text[l.off : l.off+l.size]
		if s.unique {
			if i > 0 && l.prefix == last.prefix && s.compareKeys(s.keys, text[last.off:last.off+last.size], line) == 0 {
				continue // the first of equal lines stays to compare with
			}
			last = l
		}
		_, _ = w.Write(line)
		_, _ = w.Write(end)
	}
}

// check is -c and -C.
func (s *sorter) check(name string, silent bool) int {
	r, err := s.p.OpenInput(name)
	if err != nil {
		verb := "open failed"
		s.fail("%s: %s: %s", verb, program.QuoteColon(name), proc.Strerror(err))
	}
	defer r.Close()
	l := program.NewLineReader(s.p, r, s.delim)
	defer l.Close()
	var prev []byte
	n := 0
	for raw, ok := l.Next(); ok; raw, ok = l.Next() {
		n++
		line := program.Chomp(raw, s.delim)
		if n > 1 {
			c := s.compare(prev, line)
			if c > 0 || c == 0 && s.unique {
				if !silent {
					s.p.Errorf("%s:%d: disorder: %s", name, n, line)
				}
				return 1
			}
		}
		prev = append(prev[:0], line...)
	}
	if l.Err != nil {
		s.fail("read failed: %s: %s", program.QuoteColon(name), proc.Strerror(l.Err))
	}
	return 0
}
