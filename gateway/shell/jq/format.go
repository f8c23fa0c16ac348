package jq

import (
	"encoding/base32"
	"encoding/base64"
	"strings"
)

var formats = map[string]func(v any) (string, error){
	"@text": func(v any) (string, error) { return tostring(v), nil },
	"@json": func(v any) (string, error) { return text(v), nil },
	"@html": func(v any) (string, error) {
		return strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "'", "&apos;", `"`, "&quot;").Replace(tostring(v)), nil
	},
	"@uri": func(v any) (string, error) {
		s := tostring(v)
		b := make([]byte, 0, len(s))
		for i := range len(s) {
			c := s[i]
			if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-_.~!*'()", c) >= 0 {
				b = append(b, c)
			} else {
				b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
			}
		}
		return string(b), nil
	},
	"@csv": func(v any) (string, error) {
		return row(v, "csv", ",", func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` })
	},
	"@tsv": func(v any) (string, error) {
		return row(v, "tsv", "\t", strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace)
	},
	"@sh":     shell,
	"@base64": func(v any) (string, error) { return base64.StdEncoding.EncodeToString([]byte(tostring(v))), nil },
	"@base32": func(v any) (string, error) { return base32.StdEncoding.EncodeToString([]byte(tostring(v))), nil },
	"@base64d": func(v any) (string, error) {
		v = tostring(v)
		s := strings.TrimRight(v.(string), "=")
		if len(s)%4 == 1 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == "" {
			return "", errorf("%s trailing base64 byte found", describe(v))
		}
		b, err := base64.RawStdEncoding.DecodeString(s)
		if err != nil {
			return "", errorf("%s is not valid base64 data", describe(v))
		}
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	},
	"@base32d": func(v any) (string, error) {
		b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(tostring(v), "="))
		if err != nil {
			return "", errorf("%s is not valid base32 data", describe(v))
		}
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	},
}

func format(name string, v any) (string, error) {
	if name == "" {
		return tostring(v), nil
	}
	f, ok := formats[name]
	if !ok {
		return "", errorf("%s is not a valid format", strings.TrimPrefix(name, "@"))
	}
	return f(v)
}

func row(v any, kind, sep string, quote func(string) string) (string, error) {
	a, ok := v.(*Array)
	if !ok {
		return "", errorf("%s cannot be %s-formatted, only array", describe(v), kind)
	}
	var b strings.Builder
	for i, x := range a.e {
		if i > 0 {
			b.WriteString(sep)
		}
		switch x := x.(type) {
		case nil:
		case bool, float64:
			b.WriteString(text(x))
		case string:
			b.WriteString(quote(x))
		default:
			return "", errorf("%s is not valid in a csv row", describe(x))
		}
	}
	return b.String(), nil
}

func shell(v any) (string, error) {
	list := []any{v}
	if a, ok := v.(*Array); ok {
		list = a.e
	}
	var b strings.Builder
	for i, x := range list {
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
