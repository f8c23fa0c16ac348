package text

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

var nlSpec = getopt.New("h:b:f:v:i:pl:s:w:n:d:",
	"header-numbering:=h body-numbering:=b footer-numbering:=f starting-line-number:=v line-increment:=i no-renumber=p "+
		"join-blank-lines:=l number-separator:=s number-width:=w number-format:=n section-delimiter:=d").
	WithUsage("[OPTION]... [FILE]...", "Write each FILE to standard output, with line numbers added.")

// nlStyle is which lines of a section get a number: a all, t non-empty, n none, p those that match.
type nlStyle struct {
	kind byte
	re   *regex.Regexp
}

func nl(_ context.Context, p *proc.Process) int {
	opts, args := nlSpec.Parse(p)
	style := map[string]nlStyle{"h": {kind: 'n'}, "b": {kind: 't'}, "f": {kind: 'n'}}
	start, step, join, width := int64(1), int64(1), int64(1), int64(6)
	sep, format, delim, renumber, ok := "\t", "rn", `\:`, true, true
	number := func(o getopt.Option, what string, low, high int64) int64 {
		n, err := strconv.ParseInt(strings.TrimPrefix(o.Value, "+"), 10, 64)
		switch {
		case err != nil && strings.Trim(o.Value, "+-0123456789") != "" || o.Value == "":
			p.Errorf("invalid %s: %s", what, program.Quote(o.Value))
			p.Exit(1)
		case n < low || n > high || err != nil:
			p.Errorf("invalid %s: %s: Numerical result out of range", what, program.Quote(o.Value))
			p.Exit(1)
		}
		return n
	}
	for _, o := range opts {
		switch o.Key {
		case "h", "b", "f":
			what := map[string]string{"h": "header", "b": "body", "f": "footer"}[o.Key]
			switch {
			case o.Value == "a" || o.Value == "t" || o.Value == "n":
				style[o.Key] = nlStyle{kind: o.Value[0]}
			case strings.HasPrefix(o.Value, "p"):
				re, err := regex.Compile(o.Value[1:], regex.Options{Bytes: program.ByteLocale(p)})
				if err != nil {
					p.Errorf("%v", err)
					return 1
				}
				style[o.Key] = nlStyle{'p', re}
			default:
				p.Errorf("invalid %s numbering style: %s", what, program.Quote(o.Value))
				ok = false
			}
		case "v":
			start = number(o, "starting line number", math.MinInt64, math.MaxInt64)
		case "i":
			step = number(o, "line number increment", math.MinInt64, math.MaxInt64)
		case "p":
			renumber = false
		case "l":
			join = number(o, "line number of blank lines", 1, math.MaxInt64)
		case "s":
			sep = o.Value
		case "w":
			width = number(o, "line number field width", 1, math.MaxInt32)
		case "n":
			if o.Value != "ln" && o.Value != "rn" && o.Value != "rz" {
				p.Errorf("invalid line numbering format: %s", program.Quote(o.Value))
				ok = false
			}
			format = o.Value
		case "d":
			delim = o.Value
			if len(delim) == 1 {
				delim += ":"
			}
		}
	}
	if !ok {
		nlSpec.Hint(p)
	}
	width = min(width, 4096)
	current, line, blanks := style["b"], start, int64(0)
	put := func() {
		switch format {
		case "ln":
			fmt.Fprintf(p.Out, "%-*d%s", width, line, sep)
		case "rz":
			fmt.Fprintf(p.Out, "%0*d%s", width, line, sep)
		default:
			fmt.Fprintf(p.Out, "%*d%s", width, line, sep)
		}
		line += step
	}
	blank := strings.Repeat(" ", int(width)+len(sep))
	return program.EachInput(p, args, func(_ string, r io.Reader) error {
		l := program.NewLineReader(p, r, '\n')
		defer l.Close()
		for raw, more := l.Next(); more; raw, more = l.Next() {
			text := program.Chomp(raw, '\n')
			if delim != "" && len(text) >= len(delim) && bytes.HasPrefix(text, []byte(delim)) {
				section := ""
				switch string(text) {
				case delim + delim + delim:
					section = "h"
				case delim + delim:
					section = "b"
				case delim:
					section = "f"
				}
				if section != "" {
					current = style[section]
					if renumber {
						line = start
					}
					p.Out.WriteByte('\n')
					continue
				}
			}
			numbered := false
			switch current.kind {
			case 'a':
				numbered = true
				if join > 1 && len(text) == 0 {
					blanks++
					numbered = blanks == join
				}
				if numbered {
					blanks = 0
				}
			case 't':
				numbered = len(text) > 0
			case 'p':
				numbered = current.re.Match(text)
			}
			if numbered {
				put()
			} else {
				p.Out.WriteString(blank)
			}
			p.Out.Write(text)
			p.Out.WriteByte('\n')
		}
		return l.Err
	})
}
