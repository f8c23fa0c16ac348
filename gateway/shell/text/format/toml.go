package format

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

func encodeTOML(v any, _ int, tick, hold func(int)) ([]byte, error) {
	o, ok := v.(*jq.Object)
	if !ok {
		if s, ok := scalar(v); ok {
			return []byte(s + "\n"), nil
		}
		return nil, unfit("TOML", v)
	}
	b := &buffer{tick: tick, hold: hold}
	err := writeTable(b, o, "", 0)
	return b.Bytes(), err
}

// writeTable writes the plain values of a table first: what comes behind a header belongs to it.
func writeTable(b *buffer, o *jq.Object, prefix string, depth int) error {
	if depth > maxDepth {
		return ErrTooDeep
	}
	for k, v := range o.All() {
		if _, isTable := v.(*jq.Object); isTable || v == nil || tables(v) {
			continue
		}
		b.WriteString(tomlKey(k) + " = ")
		if err := tomlInline(b, v, depth); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	for k, v := range o.All() {
		name := prefix + tomlKey(k)
		switch v := v.(type) {
		case *jq.Object:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("[" + name + "]\n")
			if err := writeTable(b, v, name+".", depth+1); err != nil {
				return err
			}
		case *jq.Array:
			if !tables(v) {
				continue
			}
			for _, x := range v.Values() {
				if b.Len() > 0 {
					b.WriteByte('\n')
				}
				b.WriteString("[[" + name + "]]\n")
				if err := writeTable(b, x.(*jq.Object), name+".", depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tables reports whether v is an array of tables.
func tables(v any) bool {
	a, ok := v.(*jq.Array)
	if !ok || len(a.Values()) == 0 {
		return false
	}
	return !slices.ContainsFunc(a.Values(), func(x any) bool { _, ok := x.(*jq.Object); return !ok })
}

func tomlKey(k string) string {
	bare := k != ""
	for _, c := range k {
		bare = bare && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if bare {
		return k
	}
	return tomlString(k)
}

func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString("\\" + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func tomlInline(b *buffer, v any, depth int) error {
	if depth > maxDepth {
		return ErrTooDeep
	}
	switch v := v.(type) {
	case nil:
		b.WriteString(`""`) // TOML has no null
	case string:
		b.WriteString(tomlString(v))
	case *jq.Array:
		b.WriteByte('[')
		for i, x := range v.Values() {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := tomlInline(b, x, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case *jq.Object:
		b.WriteByte('{')
		first := true
		for k, x := range v.All() {
			if !first {
				b.WriteByte(',')
			}
			b.WriteString(" " + tomlKey(k) + " = ")
			if err := tomlInline(b, x, depth+1); err != nil {
				return err
			}
			first = false
		}
		b.WriteString(" }")
	case float64:
		switch {
		case math.IsInf(v, 1):
			b.WriteString("inf")
		case math.IsInf(v, -1):
			b.WriteString("-inf")
		case math.IsNaN(v):
			b.WriteString("nan")
		case v == math.Trunc(v) && math.Abs(v) < 1<<53:
			b.WriteString(strconv.FormatInt(int64(v), 10))
		default:
			b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		}
	default:
		s, _ := scalar(v)
		b.WriteString(s)
	}
	return nil
}
