package mcp

import (
	"bytes"
	"encoding/json"
)

// fit cuts an answer that is longer than its budget: of the longest list the first entries stay, of long texts the head
// and the tail. The answer says so: "truncated", and how many entries are left out.
func fit(text []byte, budget int) []byte {
	if len(text) <= budget {
		return text
	}
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return text // ours are objects
	}
	v["truncated"] = true
	for keep := budget / 4; keep > 16; keep /= 2 {
		shorten(v, keep)
		if text = encoded(v); len(text) <= budget {
			return text
		}
		if list, all := longest(v); all != nil {
			room, n := budget-(len(text)-len(encoded(all))), 0
			for n < len(all) {
				if room -= len(encoded(all[n])) + 1; room < 64 {
					break
				}
				n++
			}
			// One entry that fills the answer is shortened further.
			if n > 0 {
				v[list], v["leftOut"] = all[:n], len(all)-n
				return encoded(v)
			}
		}
	}
	return text
}

func encoded(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // what was decoded can be encoded
	return bytes.TrimRight(b.Bytes(), "\n")
}

// longest is the list that takes most of an answer.
func longest(v map[string]any) (name string, list []any) {
	most := 0
	for k, x := range v {
		if l, ok := x.([]any); ok && len(l) > 0 {
			if n := len(encoded(l)); n > most || n == most && k < name {
				name, list, most = k, l, n
			}
		}
	}
	return name, list
}

// shorten leaves the middle of long texts out, everywhere in v.
func shorten(v any, keep int) any {
	switch x := v.(type) {
	case string:
		s, _ := middle([]byte(x), keep)
		return s
	case []any:
		for i := range x {
			x[i] = shorten(x[i], keep)
		}
	case map[string]any:
		for k := range x {
			x[k] = shorten(x[k], keep)
		}
	}
	return v
}
