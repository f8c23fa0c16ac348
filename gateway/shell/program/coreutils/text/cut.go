package text

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var cutSpec = getopt.New("b:c:d:f:nsz",
	"bytes:=b characters:=c fields:=f delimiter:=d only-delimited=s output-delimiter: complement zero-terminated=z").
	WithUsage("OPTION... [FILE]...", "Print selected parts of lines from each FILE to standard output.")

// span is an inclusive range of positions counted from 1.
type span struct{ lo, hi int }

type cutRun struct {
	p         *proc.Process
	spans     []span
	delim     byte
	outDelim  []byte
	hasOut    bool
	onlyDelim bool
	end       byte
}

func cut(_ context.Context, p *proc.Process) int {
	opts, args := cutSpec.Parse(p)
	c := &cutRun{p: p, delim: '\t', end: '\n'}
	var list string
	var mode byte
	hasDelim, complement := false, false
	for _, o := range opts {
		switch o.Key {
		case "b", "c", "f":
			if mode != 0 {
				cutSpec.Fail(p, "only one list may be specified")
			}
			mode, list = o.Key[0], o.Value
		case "d":
			if len(o.Value) > 1 {
				cutSpec.Fail(p, "the delimiter must be a single character")
			}
			c.delim, hasDelim = 0, true
			if o.Value != "" {
				c.delim = o.Value[0]
			}
		case "s":
			c.onlyDelim = true
		case "output-delimiter":
			c.outDelim, c.hasOut = []byte(o.Value), true
			if o.Value == "" {
				c.outDelim = []byte{0}
			}
		case "complement":
			complement = true
		case "z":
			c.end = 0
		}
	}
	switch {
	case mode == 0:
		cutSpec.Fail(p, "you must specify a list of bytes, characters, or fields")
	case mode != 'f' && hasDelim:
		cutSpec.Fail(p, "an input delimiter may be specified only when operating on fields")
	case mode != 'f' && c.onlyDelim:
		cutSpec.Fail(p, "suppressing non-delimited lines makes sense\n\tonly when operating on fields")
	}
	spans, problem := parseSpans(list, mode == 'f')
	if problem != "" {
		cutSpec.Fail(p, "%s", problem)
	}
	c.spans = mergeSpans(spans, complement)
	if !c.hasOut {
		c.outDelim = []byte{c.delim}
	}
	return program.EachInput(p, args, func(_ string, r io.Reader) error {
		l := program.NewLineReader(p, r, c.end)
		defer l.Close()
		if mode == 'f' && c.delim == c.end {
			c.lines(l)
			return l.Err
		}
		for raw, ok := l.Next(); ok; raw, ok = l.Next() {
			line := program.Chomp(raw, c.end)
			if mode == 'f' {
				c.fields(line)
			} else {
				c.bytes(line)
			}
		}
		return l.Err
	})
}

func parseSpans(list string, fields bool) ([]span, string) {
	zero, invalid, large := "byte/character positions are numbered from 1", "invalid byte or character range",
		"byte/character offset %s is too large"
	if fields {
		zero, invalid, large = "fields are numbered from 1", "invalid field range", "field number %s is too large"
	}
	var spans []span
	for at := 0; at <= len(list); {
		end := at
		for end < len(list) && strings.IndexByte(", \t", list[end]) < 0 {
			end++
		}
		part, start := list[at:end], at
		at = end + 1
		lo, hi, ranged := strings.Cut(part, "-")
		if strings.Contains(hi, "-") {
			return nil, invalid
		}
		if bad := strings.Trim(part, "0123456789-"); bad != "" {
			what := "byte/character position"
			if fields {
				what = "field value"
			}
			return nil, "invalid " + what + " " + program.Quote(list[start+strings.Index(part, bad):])
		}
		for _, n := range []string{lo, hi} {
			if len(strings.TrimLeft(n, "0")) > 18 {
				return nil, strings.Replace(large, "%s", program.Quote(n), 1)
			}
		}
		if ranged && lo == "" && hi == "" {
			return nil, "invalid range with no endpoint: -"
		}
		s := span{1, math.MaxInt}
		if lo != "" || !ranged {
			s.lo, _ = strconv.Atoi(lo) // "" is 0, which is refused below
		}
		if !ranged {
			s.hi = s.lo
		} else if hi != "" {
			s.hi, _ = strconv.Atoi(hi)
		}
		switch {
		case s.lo == 0:
			return nil, zero
		case s.hi < s.lo:
			return nil, "invalid decreasing range"
		}
		spans = append(spans, s)
	}
	if len(spans) == 0 {
		return nil, zero
	}
	return spans, ""
}

// mergeSpans sorts and joins overlapping spans; adjacent ones stay apart, which --output-delimiter shows.
func mergeSpans(spans []span, complement bool) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	if !complement {
		return out
	}
	var rest []span
	next := 1
	for _, s := range out {
		if s.lo > next {
			rest = append(rest, span{next, s.lo - 1})
		}
		if s.hi == math.MaxInt {
			return rest
		}
		next = s.hi + 1
	}
	return append(rest, span{next, math.MaxInt})
}

func (c *cutRun) bytes(line []byte) {
	for i, s := range c.spans {
		if s.lo > len(line) {
			break
		}
		if i > 0 && c.hasOut {
			c.p.Out.Write(c.outDelim)
		}
		c.p.Out.Write(line[s.lo-1 : min(s.hi, len(line))])
	}
	c.p.Out.WriteByte(c.end)
}

// lines is fields where lines are what is divided: the input is one record.
func (c *cutRun) lines(l *program.LineReader) {
	printed, field, spans := false, 0, c.spans
	for raw, ok := l.Next(); ok; raw, ok = l.Next() {
		if field++; field == 1 && c.onlyDelim && raw[len(raw)-1] != c.end {
			return // the only line has no delimiter
		}
		for len(spans) > 0 && spans[0].hi < field {
			spans = spans[1:]
		}
		if len(spans) == 0 || spans[0].lo > field {
			continue
		}
		if printed {
			c.p.Out.Write(c.outDelim)
		}
		c.p.Out.Write(program.Chomp(raw, c.end))
		printed = true
	}
	if field > 0 {
		c.p.Out.WriteByte(c.end)
	}
}

func (c *cutRun) fields(line []byte) {
	out := c.p.Out
	if bytes.IndexByte(line, c.delim) < 0 {
		if !c.onlyDelim {
			out.Write(line)
			out.WriteByte(c.end)
		}
		return
	}
	field, printed, rest, more := 0, false, line, true
	for _, s := range c.spans {
		// Skip to the first field of the span.
		for more && field < s.lo-1 {
			i := bytes.IndexByte(rest, c.delim)
			if i < 0 {
				more = false
				break
			}
			rest = rest[i+1:]
			field++
		}
		if !more {
			break
		}
		if !c.hasOut && s.hi == math.MaxInt {
			if printed {
				out.Write(c.outDelim)
			}
			out.Write(rest)
			break
		}
		for more && field < s.hi {
			i := bytes.IndexByte(rest, c.delim)
			f := rest
			if i >= 0 {
				f, rest = rest[:i], rest[i+1:]
			} else {
				more = false
			}
			field++
			if printed {
				out.Write(c.outDelim)
			}
			out.Write(f)
			printed = true
		}
	}
	out.WriteByte(c.end)
}
