package format

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

// decodeProps reads key = value lines; a dot in a key leads into a map, a number into an array.
func decodeProps(text []byte, tick, hold func(int)) (any, error) {
	if err := size(text); err != nil {
		return nil, err
	}
	root := &branch{}
	hold(len(text) + 16*bytes.Count(text, []byte{'\n'}))
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		tick(1)
		line := strings.TrimLeft(strings.TrimSuffix(lines[i], "\r"), " \t\f")
		if strings.HasSuffix(line, `\`) {
			var joined strings.Builder
			for strings.HasSuffix(line, `\`) && !strings.HasSuffix(line, `\\`) && i+1 < len(lines) {
				tick(1)
				i++
				joined.WriteString(line[:len(line)-1])
				line = strings.TrimLeft(strings.TrimSuffix(lines[i], "\r"), " \t\f")
			}
			line = joined.String() + line
		}
		tick(len(line) >> 6)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		at := strings.IndexAny(line, "=: \t")
		key, value := line, ""
		if at >= 0 {
			key, value = line[:at], strings.TrimLeft(line[at:], " \t\f")
			if value != "" && (value[0] == '=' || value[0] == ':') {
				value = strings.TrimLeft(value[1:], " \t\f")
			}
		}
		parts := 1 + strings.Count(key, ".")
		if parts > maxDepth {
			return nil, ErrTooDeep
		}
		tick(parts)
		hold(2*len(line) + 256*parts)
		root.set(strings.Split(key, "."), unescapeProp(value))
	}
	return root.value(tick), nil
}

func unescapeProp(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\:`, ":", `\=`, "=", `\#`, "#", `\!`, "!", `\ `, " ",
		`\\`, `\`).Replace(s)
}

// branch is a map or array that is being made.
type branch struct {
	keys []string
	sub  map[string]*branch
	leaf string
}

func (b *branch) set(path []string, value string) {
	for _, k := range path {
		if b.sub == nil {
			b.sub = map[string]*branch{}
		}
		next, ok := b.sub[k]
		if !ok {
			next = &branch{}
			b.sub[k] = next
			b.keys = append(b.keys, k)
		}
		b = next
	}
	b.leaf = value
}

func (b *branch) value(tick func(int)) any {
	tick(1)
	if len(b.keys) == 0 {
		return cellValue(b.leaf)
	}
	list := make([]any, len(b.keys))
	for i, k := range b.keys {
		if k != strconv.Itoa(i) {
			list = nil
			break
		}
		list[i] = b.sub[k].value(tick)
	}
	if list != nil {
		return jq.NewArray(list)
	}
	o := jq.NewObject()
	for _, k := range b.keys {
		o = o.Set(k, b.sub[k].value(tick))
	}
	return o
}

func encodeProps(v any, _ int, tick, hold func(int)) ([]byte, error) {
	b := &buffer{tick: tick, hold: hold}
	if s, ok := scalar(v); ok {
		return []byte(s + "\n"), nil
	}
	err := writeProps(b, "", v, 0)
	return b.Bytes(), err
}

func writeProps(b *buffer, key string, v any, depth int) error {
	if depth > maxDepth {
		return ErrTooDeep
	}
	below := func(k string) string {
		if key == "" {
			return k
		}
		return key + "." + k
	}
	switch v := v.(type) {
	case *jq.Object:
		for k, x := range v.All() {
			if err := writeProps(b, below(k), x, depth+1); err != nil {
				return err
			}
		}
		return nil
	case *jq.Array:
		for i, x := range v.Values() {
			if err := writeProps(b, below(strconv.Itoa(i)), x, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	s, _ := scalar(v)
	b.WriteString(key + " = " + strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s) + "\n")
	return nil
}
