package sys

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var dateSpec = getopt.New("d:f:I::r:Rs:u",
	"date:=d debug file:=f iso-8601::=I reference:=r resolution rfc-email=R rfc-822=R rfc-2822=R rfc-3339: set:=s uct=u utc=u universal=u").
	WithUsage("[OPTION]... [+FORMAT]", "Display date and time in the given FORMAT.")

const rfcEmail = "%a, %d %b %Y %H:%M:%S %z"

func date(_ context.Context, p *proc.Process) int {
	opts, args := dateSpec.Parse(p)
	now := program.LocalNow(p)
	var text, file, ref, format string
	var hasText, hasFile, hasRef, set, resolution bool
	setFormat := func(f string) {
		if format != "" {
			p.Errorf("multiple output formats specified")
			p.Exit(1)
		}
		format = f
	}
	for _, o := range opts {
		switch o.Key {
		case "d":
			text, hasText = o.Value, true
		case "f":
			file, hasFile = o.Value, true
		case "r":
			ref, hasRef = o.Value, true
		case "s":
			text, set = o.Value, true
		case "u":
			now = now.UTC()
		case "R":
			setFormat(rfcEmail)
		case "resolution":
			resolution = true
		case "rfc-3339":
			setFormat(map[string]string{"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S%:z",
				"ns": "%Y-%m-%d %H:%M:%S.%N%:z"}[program.Choose(p, dateSpec, o.Key, o.Value, "date", "seconds", "ns")])
		case "I":
			word := "date"
			if o.Has {
				word = program.Choose(p, dateSpec, "iso-8601", o.Value, "hours", "minutes", "date", "seconds", "ns")
			}
			setFormat(map[string]string{"date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H%:z", "minutes": "%Y-%m-%dT%H:%M%:z",
				"seconds": "%Y-%m-%dT%H:%M:%S%:z", "ns": "%Y-%m-%dT%H:%M:%S,%N%:z"}[word])
		}
	}
	sources := 0
	for _, on := range []bool{hasText, hasFile, hasRef, resolution} {
		if on {
			sources++
		}
	}
	if sources > 1 {
		dateSpec.Fail(p, "the options to specify dates for printing are mutually exclusive")
	}
	if set && sources > 0 {
		dateSpec.Fail(p, "the options to print and set the time may not be used together")
	}
	if len(args) > 0 {
		if len(args) > 1 {
			dateSpec.Fail(p, "extra operand %s", program.Quote(args[1]))
		}
		switch {
		case strings.HasPrefix(args[0], "+"):
			setFormat(args[0][1:])
			if format == "" {
				p.Out.WriteByte('\n')
				return 0
			}
		case set || sources > 0:
			p.Errorf("the argument %s lacks a leading '+';\nwhen using an option to specify date(s), any non-option\nargument must be a format string beginning with '+'", program.Quote(args[0]))
			dateSpec.Hint(p)
		default:
			when, err := posixTime(args[0], now)
			if err != nil {
				p.Errorf("invalid date %s", program.Quote(args[0]))
				return 1
			}
			p.Errorf("cannot set date: %s", vfs.EPERM)
			p.Out.WriteString(datetime.Format("%a %b %e %H:%M:%S %Z %Y", when) + "\n")
			return 1
		}
	}
	if format == "" {
		format = "%a %b %e %H:%M:%S %Z %Y"
		if resolution {
			format = "%s.%N"
		}
	}
	show := func(t time.Time) {
		text := datetime.Counted(p, format, t)
		p.Out.WriteString(text)
		p.Out.WriteByte('\n')
		p.Release(len(text))
	}
	switch {
	case hasFile:
		return dateLines(p, file, now, show)
	case hasRef:
		st, err := p.Stat(ref)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(ref), proc.Strerror(err))
			return 1
		}
		show(time.Unix(0, st.Mtime).In(now.Location()))
	case hasText || set:
		t, err := datetime.Parse(text, now)
		if err != nil {
			p.Errorf("invalid date %s", program.Quote(text))
			return 1
		}
		if set {
			p.Errorf("cannot set date: %s", vfs.EPERM)
			show(t)
			return 1
		}
		show(t)
	case resolution:
		show(time.Unix(0, 1))
	default:
		show(now)
	}
	return 0
}

func dateLines(p *proc.Process, file string, now time.Time, show func(time.Time)) int {
	status := 0
	err := program.WithInput(p, file, func(_ string, r io.Reader) error {
		l := program.NewLineReader(p, r, '\n')
		defer l.Close()
		for raw, ok := l.Next(); ok; raw, ok = l.Next() {
			line := string(program.Chomp(raw, '\n'))
			t, err := datetime.Parse(line, now)
			if err != nil {
				p.Errorf("invalid date %s", program.Quote(line))
				status = 1
				continue
			}
			show(t)
		}
		return l.Err
	})
	if err != nil {
		p.Errorf("%s: %s", program.QuoteColon(file), proc.Strerror(err))
		return 1
	}
	return status
}

// posixTime reads MMDDhhmm[[CC]YY][.ss].
func posixTime(s string, now time.Time) (time.Time, error) {
	main, secs, _ := strings.Cut(s, ".")
	if secs != "" {
		secs = "." + secs
	}
	if len(main) != 8 && len(main) != 10 && len(main) != 12 {
		return time.Time{}, vfs.EINVAL
	}
	return datetime.ParseStamp(main[8:]+main[:8]+secs, now)
}
