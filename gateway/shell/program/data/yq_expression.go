package data

import (
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// yqPrelude is what mikefarah's expressions have beside jq's.
const yqPrelude = `def with(p; f): p |= f;
def sort_keys(p): p |= (if type == "object" then to_entries | sort_by(.key) | from_entries else . end);
def to_json: tojson; def from_json: fromjson; def to_number: tonumber; def to_string: tostring; def upcase: ascii_upcase; def downcase: ascii_downcase;
def any_c(f): any(.[]; f); def all_c(f): all(.[]; f); def omit(ks): ks as $ks | with_entries(select(.key as $k | $ks | index([$k]) | not)); def split_doc: .[]; def splitDoc: .[];
def trim: sub("^\\s+"; "") | sub("\\s+$"; "");
def tag: if type == "object" then "!!map" elif type == "array" then "!!seq" elif type == "string" then "!!str" elif type == "boolean" then "!!bool" elif type == "null" then "!!null" elif . == floor then "!!int" else "!!float" end;
def kind: if type == "object" then "map" elif type == "array" then "seq" else "scalar" end;
def __typed: if type != "string" then . else . as $s | try fromjson catch (if $s == "~" or $s == "" then null else $s end) end;
def __merge($b; $f): if type == "object" and ($b | type) == "object" then
  reduce ($b | keys_unsorted[]) as $k (.; if has($k) | not then (if $f | contains("?") then . else .[$k] = $b[$k] end) else .[$k] |= __merge($b[$k]; $f) end)
elif type == "array" and ($b | type) == "array" then
  (if $f | contains("+") then . + $b elif $f | contains("d") then . as $a | reduce range($b | length) as $i ($a; if $i < ($a | length) then .[$i] |= __merge($b[$i]; $f) else .[$i] = $b[$i] end) elif $f | contains("n") then . else $b end)
elif ($f | contains("n")) and . != null then . else $b end;
`

// yqToken is a word, a text in quotes, blanks or one other character of an expression.
type yqToken struct {
	text  string
	word  bool
	blank bool
}

func yqTokens(src string) (out []yqToken) {
	letter := func(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
	for i := 0; i < len(src); {
		from := i
		c := src[i]
		i++
		switch {
		case c == '"':
			for i < len(src) && src[i] != '"' {
				if src[i] == '\\' {
					i++
				}
				i++
			}
			i = min(i+1, len(src))
			out = append(out, yqToken{text: src[from:i]})
		case letter(c):
			for i < len(src) && (letter(src[i]) || program.IsDigit(src[i])) {
				i++
			}
			out = append(out, yqToken{text: src[from:i], word: true})
		case program.IsDigit(c):
			for i < len(src) && (program.IsDigit(src[i]) || src[i] == '.') {
				i++
			}
			out = append(out, yqToken{text: src[from:i]})
		case strings.IndexByte(" \t\r\n", c) >= 0:
			for i < len(src) && strings.IndexByte(" \t\r\n", src[i]) >= 0 {
				i++
			}
			out = append(out, yqToken{text: src[from:i], blank: true})
		default:
			out = append(out, yqToken{text: src[from:i]})
		}
	}
	return out
}

// yqExpression is an expression in jq's language. once says that it is about all documents together: $__docs and
// $__files.
func yqExpression(src string, all bool, tick func(int)) (out string, once bool) {
	t := yqTokens(src)
	// put puts one token in the place of those from i to end.
	put := func(i, end int, text string) {
		tick(1 + len(t)>>4)
		t = append(append(t[:i:i], yqToken{text: text}), t[end:]...)
	}
	// next is the first token that is not blank, from i on.
	next := func(i int) int {
		for i < len(t) && t[i].blank {
			i++
		}
		return i
	}
	is := func(i int, text string) bool { return i < len(t) && t[i].text == text }
	before := func(i int) string {
		for i--; i >= 0; i-- {
			if !t[i].blank {
				return t[i].text
			}
		}
		return ""
	}
	index := func(s string) string {
		switch s {
		case "fileIndex", "file_index", "fi":
			return "$__fi"
		case "documentIndex", "document_index", "di":
			return "$__di"
		case "filename":
			return "$__filename"
		}
		return ""
	}
	for i := 0; i < len(t); i++ {
		if !t[i].word || i > 0 && (t[i-1].text == "." || t[i-1].text == "$" || t[i-1].text == "@") {
			continue
		}
		open := next(i + 1)
		switch w := t[i].text; {
		case (w == "env" || w == "strenv") && is(open, "("):
			name := next(open + 1)
			end := next(name + 1)
			if name < len(t) && t[name].word && is(end, ")") {
				text := "(env." + t[name].text + ")"
				if w == "env" {
					text = "(env." + t[name].text + "|__typed)"
				}
				put(i, end+1, text)
			}
		case w == "select" && is(open, "(") && all:
			name := next(open + 1)
			if name >= len(t) || index(t[name].text) != "$__fi" {
				continue
			}
			first := next(name + 1)
			number := next(first + 2)
			end := next(number + 1)
			if is(first, "=") && is(first+1, "=") && number < len(t) && program.IsDigit(t[number].text[0]) && is(end, ")") {
				put(i, end+1, "($__files["+t[number].text+"] // [] | .[])")
				once = true
			}
		case w == "ireduce":
			// EXPR as $x ireduce (…) is jq's reduce EXPR as $x (…).
			t[i].text = ""
			as := i - 1
			for as > 0 && t[as].text != "as" {
				as--
			}
			from, depth := as, 0
			for from > 0 {
				c := t[from-1].text
				if c == ")" || c == "]" || c == "}" {
					depth++
				}
				if c == "(" || c == "[" || c == "{" {
					depth--
				}
				if depth < 0 || depth == 0 && (c == "|" || c == "," || c == ";" || c == "=") {
					break
				}
				from--
			}
			var source strings.Builder
			for _, x := range t[from:max(as, from)] {
				source.WriteString(x.text)
			}
			text := strings.TrimSpace(source.String())
			if all && strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "..") {
				text, once = strings.TrimSuffix("$__docs[]"+strings.TrimSuffix(" | "+text, " | ."), " "), true
			}
			put(from, as, " reduce ("+text+") ")
		case index(w) != "" && before(i) != "." && !is(open, "(") && !is(open, ":"):
			t[i].text = index(w)
		}
	}
	t = yqMerges(t, tick)
	var b strings.Builder
	for _, x := range t {
		b.WriteString(x.text)
	}
	out = b.String()
	if all && strings.ReplaceAll(src, " ", "") == "[.]" {
		return "$__docs", true
	}
	return out, once
}

// yqMerges puts a call in place of the operators *+, *d, *n and *?, and of their combinations.
func yqMerges(t []yqToken, tick func(int)) []yqToken {
	for i := 0; i < len(t); i++ {
		if t[i].text != "*" {
			continue
		}
		end := i + 1
		flags := ""
		for end < len(t) && strings.Trim(t[end].text, "+dnc?") == "" && !t[end].blank {
			flags += t[end].text
			end++
		}
		if flags == "" || end >= len(t) || !t[end].blank && t[end].text != "." && t[end].text != "(" {
			continue
		}
		stops := func(s string) bool {
			return s == "|" || s == "," || s == ";" || s == "=" || s == "as" || s == "and" || s == "or" || s == "reduce" ||
				s == ":"
		}
		from, depth := i, 0
		for from > 0 {
			c := t[from-1].text
			if c == ")" || c == "]" || c == "}" {
				depth++
			}
			if c == "(" || c == "[" || c == "{" {
				depth--
			}
			if depth < 0 || depth == 0 && stops(c) {
				break
			}
			from--
		}
		to := end
		for depth = 0; to < len(t); to++ {
			c := t[to].text
			if c == "(" || c == "[" || c == "{" {
				depth++
			}
			if c == ")" || c == "]" || c == "}" {
				depth--
			}
			if depth < 0 || depth == 0 && (stops(c) || c == "*") {
				break
			}
		}
		text := func(t []yqToken) string {
			var b strings.Builder
			for _, x := range t {
				b.WriteString(x.text)
			}
			return b.String()
		}
		tick(1 + len(t)>>4)
		call := " ((" + text(t[end:to]) + ") as $__b | (" + text(t[from:i]) + ") | __merge($__b; \"" + flags + "\")) "
		t = append(append(t[:from:from], yqToken{text: call}), t[to:]...)
		i = from
	}
	return t
}

// yqScope is where a document comes from.
type yqScope struct {
	file, document int
	name           string
	docs, files    any
}

// compile reads an expression for a document. It takes the place of the one that was compiled before.
func (r *yqRun) compile(s yqScope, src string) (*jq.Program, error) {
	names := []string{"$__fi", "$__di", "$__filename", "$index"}
	vals := []any{float64(s.file), float64(s.document), s.name, float64(s.document)}
	if s.docs != nil {
		names, vals = append(names, "$__docs", "$__files"), append(vals, s.docs, s.files)
	}
	needs := func(word string) bool { return strings.Contains(src, word) }
	if strings.ContainsAny(src, "(_") || slices.ContainsFunc([]string{"tag", "kind", "trim", "case", "splitDoc"}, needs) {
		src = yqPrelude + src
	}
	r.p.Release(r.compiled)
	r.compiled = 0
	hold := func(n int) {
		r.compiled += n
		r.p.Hold(n)
	}
	return jq.Compile(src, names, vals, nil, false, jq.Meter{Tick: r.p.Tick, Hold: hold})
}
