package jq

import (
	"encoding/base32"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

var formats = map[string]func(m *Machine, v any) (string, error){
	"@text": func(m *Machine, v any) (string, error) { return m.tostring(v), nil },
	"@json": func(m *Machine, v any) (string, error) { return m.json(v), nil },
	"@html": func(m *Machine, v any) (string, error) {
		s := m.tostring(v)
		_ = m.room(6 * len(s))
		return strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "'", "&apos;", `"`, "&quot;").Replace(s), nil
	},
	"@uri": func(m *Machine, v any) (string, error) {
		s := m.tostring(v)
		m.Tick(len(s) >> 8)
		m.alloc(3 * len(s))
		b := make([]byte, 0, len(s))
		for i := range len(s) {
			c := s[i]
			if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-_.~", c) >= 0 {
				b = append(b, c)
			} else {
				b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
			}
		}
		return string(b), nil
	},
	"@csv": func(m *Machine, v any) (string, error) {
		return row(m, v, "csv", ",", func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` })
	},
	"@tsv": func(m *Machine, v any) (string, error) {
		return row(m, v, "tsv", "\t", strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace)
	},
	"@sh": shell,
	"@base64": func(m *Machine, v any) (string, error) {
		s := m.tostring(v)
		_ = m.room(3 * len(s))
		return base64.StdEncoding.EncodeToString([]byte(s)), nil
	},
	"@base32": func(m *Machine, v any) (string, error) {
		s := m.tostring(v)
		_ = m.room(4 * len(s))
		return base32.StdEncoding.EncodeToString([]byte(s)), nil
	},
	"@base64d": func(m *Machine, v any) (string, error) {
		v = m.tostring(v)
		_ = m.room(2 * len(v.(string)))
		s := strings.TrimRight(v.(string), "=")
		if len(s)%4 == 1 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == "" {
			return "", errorf("%s trailing base64 byte found", describe(v))
		}
		b, err := base64.RawStdEncoding.DecodeString(s)
		if err != nil {
			return "", errorf("%s is not valid base64 data", describe(v))
		}
		return validText(b), nil
	},
	"@urid": func(m *Machine, v any) (string, error) {
		s := m.tostring(v)
		_ = m.room(2 * len(s))
		b := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			if s[i] != '%' {
				b = append(b, s[i])
				continue
			}
			if i+2 >= len(s) {
				return "", errorf("%s is not a valid uri encoding", describe(s))
			}
			c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return "", errorf("%s is not a valid uri encoding", describe(s))
			}
			b = append(b, byte(c))
			i += 2
		}
		return validText(b), nil
	},
	"@base32d": func(m *Machine, v any) (string, error) {
		s := strings.TrimRight(m.tostring(v), "=")
		_ = m.room(3 * len(s))
		b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s)
		if err != nil {
			return "", errorf("%s is not valid base32 data", describe(v))
		}
		return validText(b), nil
	},
}

func (m *Machine) format(name string, v any) (string, error) {
	if name == "" {
		return m.tostring(v), nil
	}
	f, ok := formats["@"+name]
	if !ok {
		return "", errorf("%s is not a valid format", name)
	}
	return f(m, v)
}

func row(m *Machine, v any, kind, sep string, quote func(string) string) (string, error) {
	a, ok := v.(*Array)
	if !ok {
		return "", errorf("%s cannot be %s-formatted, only array", describe(v), kind)
	}
	var b strings.Builder
	for i, x := range a.Values() {
		m.Tick(1)
		if s, ok := x.(string); ok {
			m.alloc(3 * len(s))
			m.Tick(len(s) >> 8)
		}
		if i > 0 {
			b.WriteString(sep)
		}
		switch x := x.(type) {
		case nil:
		case float64:
			if x == x {
				b.WriteString(text(x))
			}
		case bool, *Literal:
			b.WriteString(text(x))
		case string:
			b.WriteString(quote(x))
		default:
			return "", errorf("%s is not valid in a csv row", describe(x))
		}
	}
	return b.String(), nil
}

func shell(m *Machine, v any) (string, error) {
	list := []any{v}
	if a, ok := v.(*Array); ok {
		list = a.Values()
	}
	var b strings.Builder
	for i, x := range list {
		m.Tick(1)
		if s, ok := x.(string); ok {
			m.alloc(3 * len(s))
			m.Tick(len(s) >> 8)
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		switch x := x.(type) {
		case string:
			b.WriteString("'" + strings.ReplaceAll(x, "'", `'\''`) + "'")
		case *Array, *Object:
			return "", errorf("%s can not be escaped for shell", describe(x))
		default:
			b.WriteString(text(x))
		}
	}
	return b.String(), nil
}

// validText is b as text: what is not UTF-8 is replaced, a sequence that ends too early as one.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r != utf8.RuneError || n > 1 {
			out = append(out, b[i:i+n]...)
			i += n
			continue
		}
		want := 1
		switch c := b[i]; {
		case c >= 0xf0 && c < 0xf5:
			want = 4
		case c >= 0xe0 && c < 0xf0:
			want = 3
		case c >= 0xc2 && c < 0xe0:
			want = 2
		}
		if i+want > len(b) {
			n = len(b) - i
		} else {
			for n = 1; n < want && b[i+n]&0xc0 == 0x80; n++ {
			}
		}
		out = append(out, "\uFFFD"...)
		i += n
	}
	return string(out)
}
