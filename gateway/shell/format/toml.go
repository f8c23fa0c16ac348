package format

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/pgbox/pgbox/gateway/shell/jq"
)

func decodeTOML(text []byte, tick, hold func(int)) (any, error) {
	if err := size(text); err != nil {
		return nil, err
	}
	if nesting(text) > maxDepth {
		return nil, ErrTooDeep
	}
	tick(1 + len(text)>>3)
	hold(8 * len(text))
	var m map[string]any
	md, err := toml.Decode(string(text), &m)
	if err != nil {
		return nil, err
	}
	// The library forgets the order of keys but in its list of them.
	order := map[string]int{}
	for i, k := range md.Keys() {
		for n := range k {
			path := strings.Join(k[:n+1], "\x00")
			if _, seen := order[path]; !seen {
				order[path] = i
			}
		}
	}
	return tomlValue(m, "", order, tick), nil
}

// nesting is how deep brackets go: the library calls itself for each.
func nesting(text []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth = max(0, depth-1)
		case '#':
			if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(text)
			}
		case '"', '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if c == '"' && text[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}

func tomlValue(v any, path string, order map[string]int, tick func(int)) any {
	tick(1)
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		at := func(k string) string {
			if path == "" {
				return k
			}
			return path + "\x00" + k
		}
		slices.SortFunc(keys, func(a, b string) int {
			if c := order[at(a)] - order[at(b)]; c != 0 {
				return c
			}
			return strings.Compare(a, b)
		})
		o := jq.NewObject()
		for _, k := range keys {
			o = o.Set(k, tomlValue(v[k], at(k), order, tick))
		}
		return o
	case []map[string]any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = tomlValue(x, path, order, tick)
		}
		return jq.NewArray(list)
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = tomlValue(x, path, order, tick)
		}
		return jq.NewArray(list)
	case int64:
		return float64(v)
	case time.Time:
		return tomlTime(v)
	}
	return v
}

// tomlTime writes a time as the file has it: the library marks those without a zone, a date or a time by their location.
func tomlTime(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format(time.DateOnly)
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}

func encodeTOML(v any, _ int) ([]byte, error) {
	o, ok := v.(*jq.Object)
	if !ok {
		if s, ok := scalar(v); ok {
			return []byte(s + "\n"), nil
		}
		return nil, unfit("TOML", v)
	}
	var b bytes.Buffer
	err := tomlTable(&b, o, "", 0)
	return b.Bytes(), err
}

// tomlTable writes the plain values of a table first: what comes behind a header belongs to it.
func tomlTable(b *bytes.Buffer, o *jq.Object, prefix string, depth int) error {
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
			if err := tomlTable(b, v, name+".", depth+1); err != nil {
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
				if err := tomlTable(b, x.(*jq.Object), name+".", depth+1); err != nil {
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

func tomlInline(b *bytes.Buffer, v any, depth int) error {
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
