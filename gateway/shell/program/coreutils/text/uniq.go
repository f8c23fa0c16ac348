package text

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var uniqSpec = getopt.New("0123456789Dcdf:is:uw:z",
	"count=c repeated=d all-repeated:: group:: ignore-case=i unique=u skip-fields:=f skip-chars:=s check-chars:=w zero-terminated=z").
	WithUsage("[OPTION]... [INPUT [OUTPUT]]",
		"Filter adjacent matching lines from INPUT (or standard input), writing to OUTPUT (or standard output).")

type uniqRun struct {
	p             *proc.Process
	fields, chars int64
	width         int64 // -1: the whole rest
	fold          bool
	count         bool
	unique, first bool   // print lines that occur once, the first of a group
	all           string // -D: "none", "prepend" or "separate"
	group         string
	end           byte
	out           io.Writer
}

func uniq(_ context.Context, p *proc.Process) int {
	u := &uniqRun{p: p, width: -1, unique: true, first: true, end: '\n'}
	skip := func(value, what string) int64 {
		n, problem := program.ParseCount(value, "")
		if problem == program.NumberInvalid {
			p.Errorf("%s: invalid number of %s", program.QuoteColon(value), what)
			p.Exit(1)
		}
		return n
	}
	args := slices.Clone(p.Args[1:])
	for i, a := range args {
		// The obsolete +N skips characters, -N fields.
		if len(a) > 1 && a[0] == '+' && program.IsDigit(a[1]) {
			args[i] = "-s" + a[1:]
		}
	}
	p.Args = append([]string{p.Args[0]}, args...)
	opts, args := uniqSpec.Parse(p)
	digits, onlyRepeated, onlyUnique := "", false, false
	for _, o := range opts {
		switch o.Key {
		case "c":
			u.count = true
		case "d":
			onlyRepeated = true
		case "D":
			onlyRepeated, u.all = true, "none"
		case "all-repeated":
			onlyRepeated, u.all = true, "none"
			if o.Has {
				u.all = program.Choose(p, uniqSpec, o.Key, o.Value, "none", "prepend", "separate")
			}
		case "group":
			u.group = "separate"
			if o.Has {
				u.group = program.Choose(p, uniqSpec, o.Key, o.Value, "prepend", "append", "separate", "both")
			}
		case "f":
			u.fields = skip(o.Value, "fields to skip")
		case "i":
			u.fold = true
		case "s":
			u.chars = skip(o.Value, "bytes to skip")
		case "u":
			onlyUnique = true
		case "w":
			u.width = skip(o.Value, "bytes to compare")
		case "z":
			u.end = 0
		default:
			digits += o.Key
		}
	}
	if digits != "" {
		u.fields = skip(digits, "fields to skip")
	}
	u.unique, u.first = !onlyRepeated, !onlyUnique
	if u.group != "" && (onlyRepeated || onlyUnique || u.count) {
		uniqSpec.Fail(p, "--group is mutually exclusive with -c/-d/-D/-u")
	}
	if u.all != "" && u.count {
		uniqSpec.Fail(p, "printing all duplicated lines and repeat counts is meaningless")
	}
	if len(args) > 2 {
		uniqSpec.Fail(p, "extra operand %s", program.Quote(args[2]))
	}
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	r, err := p.OpenInput(name)
	if err != nil {
		p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
		return 1
	}
	defer r.Close()
	u.out = p.Out
	if len(args) == 2 && args[1] != "-" {
		f, err := p.Open(args[1], vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(args[1]), proc.Strerror(err))
			return 1
		}
		defer f.Close()
		w := proc.NewWriter(f, p)
		defer w.Flush()
		u.out = w
	}
	l := program.NewLineReader(p, r, u.end)
	defer l.Close()
	if u.all != "" || u.group != "" {
		u.groups(l)
	} else {
		u.merge(l)
	}
	if l.Err != nil {
		p.Errorf("error reading %s", program.QuoteName(name))
		return 1
	}
	return 0
}

func (u *uniqRun) key(line []byte) []byte {
	for n := u.fields; n > 0 && len(line) > 0; n-- {
		i := 0
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		line = line[i:]
	}
	line = line[min(u.chars, int64(len(line))):]
	if u.width >= 0 {
		line = line[:min(u.width, int64(len(line)))]
	}
	return line
}

func (u *uniqRun) equal(a, b []byte) bool {
	if u.fold {
		return len(a) == len(b) && program.EqualASCIIFold(a, b)
	}
	return bytes.Equal(a, b)
}

func (u *uniqRun) put(line []byte) {
	_, _ = u.out.Write(line)
	_, _ = u.out.Write([]byte{u.end})
}

// merge prints one line of each group.
func (u *uniqRun) merge(l *program.LineReader) {
	var prev, prevKey []byte
	repeats, have := 0, false
	flush := func() {
		if !have || (repeats == 0 && !u.unique) || (repeats > 0 && !u.first) {
			return
		}
		if u.count {
			_, _ = fmt.Fprintf(u.out, "%7d ", repeats+1)
		}
		u.put(prev)
	}
	for raw, ok := l.Next(); ok; raw, ok = l.Next() {
		line := program.Chomp(raw, u.end)
		key := u.key(line)
		if have && u.equal(prevKey, key) {
			repeats++
			continue
		}
		flush()
		prev = append(prev[:0], line...)
		prevKey = u.key(prev)
		have, repeats = true, 0
	}
	flush()
}

// groups prints every line of each group (-D, --group).
func (u *uniqRun) groups(l *program.LineReader) {
	var prev, prevKey []byte
	have, printedFirst, groups := false, false, 0
	blank := func() { _, _ = u.out.Write([]byte{u.end}) }
	for raw, ok := l.Next(); ok; raw, ok = l.Next() {
		line := program.Chomp(raw, u.end)
		key := u.key(line)
		same := have && u.equal(prevKey, key)
		if u.group != "" {
			if !same {
				if have && (u.group == "append" || u.group == "separate" || u.group == "both") || u.group == "prepend" ||
					!have && u.group == "both" {
					blank()
				}
			}
			u.put(line)
		} else if same {
			if !printedFirst {
				if u.all == "prepend" || u.all == "separate" && groups > 0 {
					blank()
				}
				u.put(prev)
				printedFirst = true
				groups++
			}
			u.put(line)
		}
		if !same {
			prev = append(prev[:0], line...)
			prevKey = u.key(prev)
			have, printedFirst = true, false
		}
	}
	if have && (u.group == "append" || u.group == "both") {
		blank()
	}
}
