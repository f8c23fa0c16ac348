package text

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var tacSpec = getopt.New("brs:", "before=b regex=r separator:=s").
	WithUsage("[OPTION]... [FILE]...", "Write each FILE to standard output, last line first.")

func tac(_ context.Context, p *proc.Process) int {
	opts, args := tacSpec.Parse(p)
	before, isRegexp, sep := false, false, "\n"
	for _, o := range opts {
		switch o.Key {
		case "b":
			before = true
		case "r":
			isRegexp = true
		case "s":
			sep = o.Value
		}
	}
	switch {
	case sep == "" && isRegexp:
		p.Errorf("separator cannot be empty")
		return 1
	case sep == "":
		sep = "\x00"
	}
	find := func(b []byte) (start, end int) {
		i := bytes.LastIndex(b, []byte(sep))
		return i, i + len(sep)
	}
	if isRegexp {
		// Anchored, so that a place where it does not match costs little; within a line together with the character before
		// it, which ^ looks at.
		opt := regex.Options{Extended: true, Dialect: regex.Grep, Multiline: true, Bytes: program.ByteLocale(p), Tick: p.Tick}
		re, err := regex.Compile("\\`("+program.EmacsToExtended(sep)+")", opt)
		if err != nil {
			message := err.Error()
			if strings.HasPrefix(message, "Unmatched [") {
				message = "Invalid regular expression"
			}
			p.Errorf("%s", message)
			return 1
		}
		inner, err := regex.Compile("\\`.("+program.EmacsToExtended(sep)+")", opt)
		if err != nil {
			p.Errorf("%s", err)
			return 1
		}
		find = func(b []byte) (int, int) {
			// The last place where it matches; like GNU's backward search the match found is the shortest there.
			for i := len(b) - 1; i >= 0; i-- {
				p.Tick(1)
				if i > 0 && b[i-1] != '\n' {
					_, k := utf8.DecodeLastRune(b[:i])
					if opt.Bytes {
						k = 1
					}
					if _, n, ok := inner.FindIndex(b[i-k:], 0); ok {
						return i, i - k + n
					}
				} else if _, n, ok := re.FindIndex(b[i:], 0); ok {
					return i, i + n
				}
			}
			return -1, -1
		}
	}
	status := 0
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		r, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("failed to open %s for reading: %s", program.QuoteName(name), proc.Strerror(err))
			status = 1
			continue
		}
		data, err := p.ReadAll(r)
		_ = r.Close()
		if errors.Is(err, vfs.EISDIR) {
			err = vfs.EINVAL // tac seeks first
		}
		if err != nil {
			p.Errorf("%s: read error: %s", program.QuoteColon(name), proc.Strerror(err))
			status = 1
			continue
		}
		reverseRecords(p.Out, p, data, before, find)
		p.Release(cap(data))
	}
	return status
}

func reverseRecords(out io.Writer, p *proc.Process, data []byte, before bool, find func([]byte) (int, int)) {
	end, search := len(data), data
	for {
		start, stop := find(search)
		if start < 0 {
			break
		}
		p.Tick(1)
		if before {
			_, _ = out.Write(data[start:end])
			end = start
		} else if stop < end || stop == end && end < len(data) {
			_, _ = out.Write(data[stop:end])
			end = stop
		}
		search = data[:start]
	}
	_, _ = out.Write(data[:end])
}
