package data

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// json_pp shows JSON as Perl's JSON::PP does: three blanks for each level, keys in order.
func jsonPP(_ context.Context, p *proc.Process) int {
	options := []string{"pretty", "canonical"}
	for args := p.Args[1:]; len(args) > 0; args = args[1:] {
		switch a := strings.TrimPrefix(args[0], "-"); {
		case (a == "-json_opt" || a == "json_opt") && len(args) > 1:
			options, args = strings.Split(args[1], ","), args[1:]
		case (a == "f" || a == "t" || a == "-f" || a == "-t") && len(args) > 1:
			if args[1] != "json" && args[1] != "null" {
				p.Errorf("only json is read and written")
				return 255
			}
			args = args[1:]
		case a == "v" || a == "V":
			p.Out.WriteString("4.07\n")
			return 0
		}
	}
	on := func(name string) bool { return slices.Contains(options, name) }
	w := &jsonPrinter{p: p, indent: on("pretty") || on("indent"), before: on("pretty") || on("space_before"),
		after: on("pretty") || on("space_after"), ascii: on("ascii")}
	data, err := p.ReadAll(p.Stdin)
	if err != nil {
		p.Errorf("%s", proc.Strerror(err))
		return 255
	}
	p.Hold(4 * len(data))
	defer p.Release(4 * len(data))
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		p.Err.WriteString("malformed JSON string: " + strings.TrimPrefix(err.Error(), "json: ") + "\n")
		return 255
	}
	if rest := bytes.TrimLeft(data[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		p.Err.WriteString("garbage after JSON object, at character offset " + strconv.Itoa(len(data)-len(rest)) + "\n")
		return 255
	}
	w.value(v, 0)
	if _, err := d.Token(); w.indent || err != io.EOF {
		p.Out.WriteByte('\n')
	}
	return 0
}

type jsonPrinter struct {
	p                            *proc.Process
	indent, before, after, ascii bool
}

func (w *jsonPrinter) newline(depth int) {
	if w.indent {
		w.p.Out.WriteByte('\n')
		for range depth {
			w.p.Out.WriteString("   ")
		}
	}
}

func (w *jsonPrinter) value(v any, depth int) {
	w.p.Tick(1)
	out := w.p.Out
	switch v := v.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		out.WriteString(strconv.FormatBool(v))
	case string:
		w.text(v)
	case json.Number:
		w.number(string(v))
	case []any:
		if len(v) == 0 {
			out.WriteString("[]")
			return
		}
		out.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			w.newline(depth + 1)
			w.value(x, depth+1)
		}
		w.newline(depth)
		out.WriteByte(']')
	case map[string]any:
		if len(v) == 0 {
			out.WriteString("{}")
			return
		}
		out.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				out.WriteByte(',')
			}
			w.newline(depth + 1)
			w.text(k)
			if w.before {
				out.WriteByte(' ')
			}
			out.WriteByte(':')
			if w.after {
				out.WriteByte(' ')
			}
			w.value(v[k], depth+1)
		}
		w.newline(depth)
		out.WriteByte('}')
	}
}

// number prints what Perl makes of a number: integers of 64 bits, other integers as text, all else with 15 digits.
func (w *jsonPrinter) number(s string) {
	if !strings.ContainsAny(s, ".eE") {
		_, uerr := strconv.ParseUint(s, 10, 64)
		if _, err := strconv.ParseInt(s, 10, 64); err != nil && uerr != nil {
			s = `"` + s + `"`
		}
		w.p.Out.WriteString(s)
		return
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range is infinite
	switch text := program.CFloat('g', f, 15, false); text {
	case "-0":
		w.p.Out.WriteByte('0')
	case "inf", "-inf":
		w.p.Out.WriteString(strings.Replace(text, "inf", "Inf", 1))
	default:
		w.p.Out.WriteString(text)
	}
}

func (w *jsonPrinter) text(s string) {
	out := w.p.Out
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteString(`\` + string(r))
		case r < ' ' && strings.ContainsRune("\b\t\n\f\r", r):
			out.WriteString(`\` + string("btn_fr"[r-'\b']))
		case r < ' ':
			out.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		case w.ascii && r > 0x7f:
			out.WriteString(strings.Trim(strconv.QuoteToASCII(string(r)), `"`))
		default:
			out.WriteString(string(r))
		}
	}
	out.WriteByte('"')
}
