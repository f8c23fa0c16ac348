package utillinux

import (
	"bytes"
	"context"
	"errors"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var lookSpec = getopt.New("abdft:hV", "alternative=a alphanum=d ignore-case=f terminate:=t help=h version=V").
	WithUsage("[options] <string> [<file>...]",
		"Display lines beginning with a specified string.").WithVersion("from util-linux 2.38.1")

type lookRun struct {
	p                *proc.Process
	key              []byte
	alphanum, folded bool
}

func look(_ context.Context, p *proc.Process) int {
	opts, args := lookSpec.Parse(p)
	l := &lookRun{p: p}
	file, end := "/usr/share/dict/words", ""
	if v, ok := p.Env.Get("WORDLIST"); ok {
		file = v
	}
	for _, o := range opts {
		switch o.Key {
		case "a":
			file = "/usr/share/dict/web2"
		case "d":
			l.alphanum = true
		case "f":
			l.folded = true
		case "t":
			end = o.Value
		case "V":
			p.Out.WriteString("look from util-linux 2.38.1\n")
			return 0
		}
	}
	switch len(args) {
	case 2:
		file = args[1]
	case 1:
		// The dictionary is in dictionary order.
		l.alphanum, l.folded = true, true
	default:
		lookSpec.Fail(p, "bad usage")
	}
	key := []byte(args[0])
	if end != "" {
		if i := bytes.IndexByte(key, end[0]); i >= 0 {
			key = key[:i+1]
		}
	}
	if l.alphanum {
		key = alphanumeric(key)
	}
	if l.folded {
		key = bytes.ToLower(key)
	}
	l.key = key
	data, err := p.ReadFile(file)
	if errors.Is(err, vfs.EISDIR) {
		err = vfs.ENODEV // what mapping a directory into memory gives
	}
	if err != nil {
		p.Errorf("%s: %s", file, proc.Strerror(err))
		return 1
	}
	if l.print(data) {
		return 0
	}
	return 1
}

func alphanumeric(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r < 128 && (program.IsAlpha(byte(r)) || program.IsDigit(byte(r)) || r == ' ' || r == '\t') {
			return r
		}
		return -1
	}, b)
}

// compare is negative when the key comes before the line, 0 when the line begins with it.
func (l *lookRun) compare(line []byte) int {
	l.p.Tick(1)
	if l.alphanum {
		line = alphanumeric(line)
	}
	line = line[:min(len(line), len(l.key))]
	if l.folded {
		line = bytes.ToLower(line)
	}
	return bytes.Compare(l.key, line)
}

// print searches the sorted lines in halves, and prints those that match.
func (l *lookRun) print(data []byte) bool {
	lineAt := func(at int) []byte {
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			return data[at : at+i]
		}
		return data[at:]
	}
	past := func(at, end int) int {
		if i := bytes.IndexByte(data[at:end], '\n'); i >= 0 {
			return at + i + 1
		}
		return end
	}
	front, back := 0, len(data)
	for {
		mid := past(front+(back-front)/2, back)
		if mid >= back || back <= front {
			break
		}
		if l.compare(lineAt(mid)) > 0 {
			front = mid
		} else {
			back = mid
		}
	}
	for front < len(data) {
		if c := l.compare(lineAt(front)); c == 0 {
			break
		} else if c < 0 {
			return false
		}
		front = past(front, len(data))
	}
	found := false
	for front < len(data) {
		line := lineAt(front)
		if l.compare(line) != 0 {
			break
		}
		found = true
		l.p.Out.Write(line)
		l.p.Out.WriteByte('\n')
		front = past(front, len(data))
	}
	return found
}
