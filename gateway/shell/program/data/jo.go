package data

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var joSpec = getopt.New("+aBDd:f:hpeno:vV", "")

const joUsage = `Usage: jo [-a] [-B] [-D] [-d keydelim] [-p] [-e] [-n] [-o outfile] [-v] [-V] [-f file] [--] [-s|-n|-b] [word...]
	word is key=value or key@value
	-a creates an array of words
	-B disable boolean true/false/null detection
	-D deduplicate object keys
	-d key will be object path separated by keydelim
	-f load file as JSON object or array
	-p pretty-prints JSON on output
	-e quit if stdin is empty do not wait for input
	-s coerce type guessing to string
	-b coerce type guessing to bool
	-n coerce type guessing to number
	-o output to the given file
	-v show version
	-V show version in JSON
`

// joNode is an object, which may have a key twice, or an array.
type joNode struct {
	array  bool
	keys   []string
	values []any // *joNode, or a value of jq
}

type joRun struct {
	p                            *proc.Process
	noBooleans, dedupe, skipNull bool
	delim                        string
	root                         *joNode
}

// errJo is a problem that was reported already.
var errJo = errors.New("jo")

func jo(_ context.Context, p *proc.Process) int {
	opts, args, err := joSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		p.Err.WriteString(joUsage)
		return 255
	}
	r := &joRun{p: p, root: &joNode{}}
	style, output, ifInput, file := jq.Style{}, "", false, ""
	for _, o := range opts {
		switch o.Key {
		case "a":
			r.root.array = true
		case "B":
			r.noBooleans = true
		case "D":
			r.dedupe = true
		case "d":
			r.delim = o.Value
		case "f":
			file = o.Value
		case "h", "help":
			p.Err.WriteString(joUsage)
			return 0
		case "p":
			style.Indent = "   "
		case "e":
			ifInput = true
		case "n":
			r.skipNull = true
		case "o":
			output = o.Value
		case "v", "version":
			p.Out.WriteString("jo 1.9\n")
			return 0
		case "V":
			p.Out.WriteString(`{"program":"jo","author":"Jan-Piet Mens","repo":"https://github.com/jpmens/jo","version":"1.9"}` +
				"\n")
			return 0
		}
	}
	if file != "" {
		text, err := r.load(file)
		if err != nil {
			return 1
		}
		if v, err := r.parse(text); err == nil {
			if n, ok := joTree(v).(*joNode); ok {
				r.root = n
			}
		}
	}
	if len(args) == 0 && file == "" {
		data, err := p.ReadAll(p.Stdin)
		if err != nil {
			p.Errorf("%s", proc.Strerror(err))
			return 1
		}
		defer p.Release(cap(data))
		if len(data) == 0 && ifInput {
			return 0
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimRight(line, "\n")
			if line == "" {
				break
			}
			args = append(args, line)
		}
	}
	kind := byte(0)
	for _, a := range args {
		p.Tick(1)
		if len(args) > 0 && (a == "-s" || a == "-n" || a == "-b") {
			kind = a[1]
			continue
		}
		if err := r.word(a, kind); err != nil {
			if !errors.Is(err, errJo) {
				p.Errorf("%v", err)
			}
			return 1
		}
		kind = 0
	}
	text := append(r.append(nil, r.root, style.Indent, 0), '\n')
	if output == "" {
		p.Out.Write(text)
		return 0
	}
	f, err := p.Open(output, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err == nil {
		_, err = f.Write(text)
		_ = f.Close()
	}
	if err != nil {
		p.Err.WriteString(output + ": " + proc.Strerror(err) + "\njo: Cannot open " + output + " for writing\n")
		return 1
	}
	return 0
}

// joTree is a value with its objects and arrays as nodes.
func joTree(v any) any {
	switch v := v.(type) {
	case *jq.Object:
		n := &joNode{}
		for k, x := range v.All() {
			n.keys, n.values = append(n.keys, k), append(n.values, joTree(x))
		}
		return n
	case *jq.Array:
		n := &joNode{array: true}
		for _, x := range v.Values() {
			n.values = append(n.values, joTree(x))
		}
		return n
	}
	return v
}

func (r *joRun) append(b []byte, v any, indent string, depth int) []byte {
	r.p.Tick(1)
	n, ok := v.(*joNode)
	if !ok {
		if f, ok := v.(float64); ok {
			return append(b, joNumber(f)...)
		}
		if s, ok := v.(string); ok {
			return joString(b, s)
		}
		return jq.Style{}.Append(b, v)
	}
	ends := "{}"
	if n.array {
		ends = "[]"
	}
	if len(n.values) == 0 {
		return append(b, ends...)
	}
	newline := func(depth int) {
		if indent != "" {
			b = append(b, '\n')
			for range depth {
				b = append(b, indent...)
			}
		}
	}
	b = append(b, ends[0])
	for i, x := range n.values {
		if i > 0 {
			b = append(b, ',')
		}
		newline(depth + 1)
		if !n.array {
			b = joString(b, n.keys[i])
			b = append(b, ':')
			if indent != "" {
				b = append(b, ' ')
			}
		}
		b = r.append(b, x, indent, depth+1)
	}
	newline(depth)
	return append(b, ends[1])
}

// joString escapes what jq does, except for the last control characters.
func joString(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "\x1f\x7f") {
		return jq.Style{}.Append(b, s)
	}
	b = append(b, '"')
	for s != "" {
		n := strings.IndexAny(s, "\x1f\x7f")
		if n == 0 {
			b, s = append(b, s[0]), s[1:]
			continue
		}
		if n < 0 {
			n = len(s)
		}
		quoted := jq.Style{}.Append(nil, s[:n])
		b, s = append(b, quoted[1:len(quoted)-1]...), s[n:]
	}
	return append(b, '"')
}

// joNumber is a number as C's %.16g writes it.
func joNumber(f float64) string {
	s := strconv.FormatFloat(f, 'e', 15, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	if e < -4 || e >= 16 {
		mantissa = strings.TrimSuffix(strings.TrimRight(mantissa, "0"), ".")
		return fmt.Sprintf("%se%+03d", mantissa, e)
	}
	s = strconv.FormatFloat(f, 'f', 15-e, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func (r *joRun) load(name string) (string, error) {
	var data []byte
	err := program.WithInput(r.p, name, func(_ string, in io.Reader) (err error) {
		data, err = r.p.ReadAll(in)
		return err
	})
	if err != nil {
		prefix := name + ": "
		if name == "" {
			prefix = ""
		}
		r.p.Err.WriteString(prefix + proc.Strerror(err) + "\njo: Cannot open " + name + " for reading\n")
		return "", errJo
	}
	return string(data), nil
}

func (r *joRun) parse(text string) (any, error) {
	d := jq.NewDecoder(strings.NewReader(text), r.p.Tick, r.p.Hold)
	v, err := d.Next()
	if err != nil {
		return nil, err
	}
	if _, err := d.Next(); !errors.Is(err, io.EOF) {
		return nil, errJo
	}
	return v, nil
}

func (r *joRun) word(word string, kind byte) error {
	if r.root.array {
		v, err := r.value(word, kind)
		if err == nil {
			r.root.values = append(r.root.values, v)
		}
		return err
	}
	if key, file, ok := strings.Cut(word, ":="); ok && !strings.ContainsAny(key, "=@") {
		v, err := r.value(":"+file, 0)
		if err != nil {
			return err
		}
		return r.set(r.root, key, v)
	}
	at := strings.IndexAny(word, "=@")
	if at < 0 {
		r.p.Err.WriteString("Argument `" + word + "' is neither k=v nor k@v\n")
		return nil
	}
	key, text := word[:at], word[at+1:]
	if word[at] == '@' {
		if text == "" {
			return r.set(r.root, key, nil)
		}
		kind = '@'
	}
	if text == "" && r.skipNull && kind == 0 {
		return nil
	}
	v, err := r.value(text, kind)
	if err != nil {
		return err
	}
	return r.set(r.root, key, v)
}

// value guesses the type of a text, unless it is given: s, n, b, or @ for a key@value.
func (r *joRun) value(text string, kind byte) (any, error) {
	switch kind {
	case 's':
		return text, nil
	case 'b':
		if f, rest, ok := leadingNumber(text); ok && rest == "" {
			return f != 0, nil
		}
		return text != "" && text != "false" && text != "null", nil
	case '@':
		if text[0] == 't' || text[0] == 'T' {
			return true, nil
		}
		n, _, _ := leadingNumber(text)
		return int64(n) != 0, nil
	case 'n':
		return r.number(text), nil
	}
	if text == "" {
		return nil, nil
	}
	switch text[0] {
	case '@', '%', ':':
		content, err := r.load(text[1:])
		if err != nil {
			return nil, err
		}
		switch text[0] {
		case '@':
			return strings.TrimSuffix(content, "\n"), nil
		case '%':
			return base64.StdEncoding.EncodeToString([]byte(content)), nil
		}
		v, err := r.parse(content)
		if err != nil {
			return nil, errors.New("Cannot decode JSON in file " + text[1:])
		}
		return joTree(v), nil
	case '\\':
		return text[1:], nil
	case '{', '[':
		if v, err := r.parse(text); err == nil {
			return joTree(v), nil
		}
		return text, nil
	}
	if !r.noBooleans {
		switch text {
		case "true", "false":
			return text == "true", nil
		case "null":
			return nil, nil
		}
	}
	if f, rest, ok := leadingNumber(text); ok && rest == "" {
		return f, nil
	}
	return text, nil
}

// number is a text as -n takes it: its number, the length of a word, 1 for true.
func (r *joRun) number(text string) any {
	switch text {
	case "true":
		return 1.0
	case "", "false", "null":
		return 0.0
	}
	if text[0] == '{' || text[0] == '[' {
		if v, err := r.parse(text); err == nil {
			return joTree(v)
		}
	}
	if f, rest, ok := leadingNumber(text); ok && rest == "" {
		return f
	}
	return float64(len(text))
}

// leadingNumber reads a finite number as strtod(3) does.
func leadingNumber(s string) (f float64, rest string, ok bool) {
	t := strings.TrimLeft(s, " \t\n\v\f\r")
	end := numberEnd(t)
	text := t[:end]
	if hex := strings.TrimLeft(strings.ToLower(text), "+-"); strings.HasPrefix(hex, "0x") && !strings.Contains(hex, "p") {
		text += "p0"
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return f, t[end:], true
	}
	return 0, s, false
}

// numberEnd is the length of the number at the beginning of s: a sign, digits with a point, decimal or after 0x
// hexadecimal, and an exponent.
func numberEnd(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digit, exponent := program.IsDigit, byte('e')
	if len(s) > i+2 && s[i] == '0' && s[i+1]|0x20 == 'x' && (program.IsHex(s[i+2]) ||
		s[i+2] == '.' && len(s) > i+3 && program.IsHex(s[i+3])) {
		i, digit, exponent = i+2, program.IsHex, 'p'
	}
	digits, point := 0, false
	for ; i < len(s) && (digit(s[i]) || s[i] == '.' && !point); i++ {
		if s[i] == '.' {
			point = true
		} else {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if k := i + 1; i < len(s) && s[i]|0x20 == exponent {
		if k < len(s) && (s[k] == '+' || s[k] == '-') {
			k++
		}
		if k < len(s) && program.IsDigit(s[k]) {
			for i = k; i < len(s) && program.IsDigit(s[i]); {
				i++
			}
		}
	}
	return i
}

// set puts a value at a key: name, name[], name[sub], or with -d a path.
func (r *joRun) set(n *joNode, key string, v any) error {
	if r.delim != "" && strings.Contains(key, r.delim[:1]) {
		path := strings.Split(key, r.delim[:1])
		if len(path) > 500 {
			return errors.New("path too long")
		}
		for _, part := range path[:len(path)-1] {
			next, err := r.child(n, part, false, func() string { return r.text(v) })
			if err != nil {
				return err
			}
			n = next
		}
		key = path[len(path)-1]
	}
	open := strings.IndexByte(key, '[')
	if open <= 0 || r.root.array {
		return r.put(n, key, v)
	}
	end := strings.IndexByte(key[open:], ']')
	if end < 0 {
		r.p.Err.WriteString("missing closing bracket on " + key + "\n")
		return r.put(n, key, v)
	}
	name, sub := key[:open], key[open+1:open+end]
	if sub == "" {
		list, err := r.child(n, name, true, func() string { return r.text(v) })
		if err != nil {
			return err
		}
		list.values = append(list.values, v)
		return nil
	}
	o, err := r.child(n, name, false, func() string { return r.text(&joNode{keys: []string{sub}, values: []any{v}}) })
	if err != nil {
		return err
	}
	return r.put(o, sub, v)
}

func (r *joRun) text(v any) string { return string(r.append(nil, v, "", 0)) }

func (r *joRun) put(n *joNode, key string, v any) error {
	if r.dedupe {
		if i := r.find(n, key); i >= 0 {
			n.values[i] = v
			return nil
		}
	}
	r.p.Hold(64 + len(key))
	n.keys, n.values = append(n.keys, key), append(n.values, v)
	return nil
}

// find is the place of a key, -1 where there is none.
func (r *joRun) find(n *joNode, key string) int {
	r.p.Tick(1 + len(n.keys)>>4)
	return slices.Index(n.keys, key)
}

// child is the object or array at a key, made where there is none.
func (r *joRun) child(n *joNode, key string, array bool, what func() string) (*joNode, error) {
	i := r.find(n, key)
	if i < 0 {
		c := &joNode{array: array}
		return c, r.put(n, key, c)
	}
	c, ok := n.values[i].(*joNode)
	switch {
	case ok && c.array == array:
		return c, nil
	case array:
		return nil, fmt.Errorf("JSON_ERR: Cannot append %s to non-array %s", what(), r.text(n.values[i]))
	}
	return nil, fmt.Errorf("JSON_ERR: Cannot add %s to non-object %s", what(), r.text(n.values[i]))
}
