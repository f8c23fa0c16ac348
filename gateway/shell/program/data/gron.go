package data

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const gronUsage = `Transform JSON (from a file, URL, or stdin) into discrete assignments to make it greppable

Usage:
  gron [OPTIONS] [FILE|URL|-]

Options:
  -u, --ungron     Reverse the operation (turn assignments back into JSON)
  -v, --values     Print just the values of provided assignments
  -c, --colorize   Colorize output (default on tty)
  -m, --monochrome Monochrome (don't colorize output)
  -s, --stream     Treat each line of input as a separate JSON object
  -k, --insecure   Disable certificate validation
  -j, --json       Represent gron data as JSON stream
      --no-sort    Don't sort output (faster)
      --version    Print version information
`

// gronNode is a JSON value: a leaf's text, or members in order of their names.
type gronNode struct {
	kind    byte // '{', '[', or 'v' for a leaf; 0 for what an assignment has skipped
	text    string
	keys    []gronKey
	members []*gronNode
	index   map[gronKey]int
}

type gronKey struct {
	name  string
	n     int
	array bool
}

type gronRun struct {
	p                   *proc.Process
	color, asJSON, sort bool
}

// gronMaxIndex bounds the array that an assignment can ask for.
const gronMaxIndex = 1 << 20

func gron(_ context.Context, p *proc.Process) int {
	g := &gronRun{p: p, sort: true}
	reverse, values, stream := p.Name() == "ungron", false, false
	var names []string
	args := p.Args[1:]
	for i, a := range args {
		if a == "--" {
			names = args[i+1:]
			break
		}
		if len(a) < 2 || a[0] != '-' {
			names = args[i:] // as Go's package flag has it, options come first
			break
		}
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"), "=")
		on := !has || value == "true" || value == "1"
		switch name {
		case "u", "ungron":
			reverse = on
		case "v", "values":
			values = on
		case "c", "colorize":
			g.color = on
		case "m", "monochrome":
			g.color = g.color && !on
		case "s", "stream":
			stream = on
		case "k", "insecure":
		case "j", "json":
			g.asJSON = on
		case "no-sort":
			g.sort = !on
		case "version":
			p.Out.WriteString("gron version dev\n")
			return 0
		case "h", "help":
			p.Err.WriteString(gronUsage)
			return 0
		default:
			p.Err.WriteString("flag provided but not defined: -" + name + "\n" + gronUsage)
			return 2
		}
	}
	in := p.Stdin
	if len(names) > 0 && names[0] != "" && names[0] != "-" {
		if strings.HasPrefix(names[0], "http://") || strings.HasPrefix(names[0], "https://") {
			fmt.Fprintf(p.Err, "Get \"%s\": there is no network\n", names[0])
			return 4
		}
		f, err := p.Open(names[0], vfs.ReadOnly, 0)
		if err != nil {
			fmt.Fprintf(p.Err, "open %s: %s\n", names[0], strings.ToLower(proc.Strerror(err)))
			return 1
		}
		defer f.Close()
		in = f
	}
	switch {
	case values:
		return g.values(in)
	case reverse:
		return g.ungron(in)
	case stream:
		return g.stream(in)
	}
	d := json.NewDecoder(&tickReader{p, in})
	d.UseNumber()
	n, err := g.decode(d, 0)
	if err != nil {
		return g.fail(3, "failed to form statements: %s", err)
	}
	g.print(gronPath{{name: "json"}}, n)
	return 0
}

func (g *gronRun) fail(status int, format string, err error) int {
	g.p.Out.Flush()
	text := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		text = "unexpected EOF"
	}
	fmt.Fprintf(g.p.Err, format+"\n", text)
	return status
}

func (g *gronRun) decode(d *json.Decoder, depth int) (*gronNode, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	return g.value(d, t, depth)
}

func (g *gronRun) value(d *json.Decoder, t json.Token, depth int) (*gronNode, error) {
	g.p.Tick(1)
	g.p.Hold(64)
	if depth > 10000 {
		return nil, errors.New("exceeded max depth")
	}
	switch v := t.(type) {
	case json.Delim:
		n := &gronNode{kind: byte(v)}
		for i := 0; d.More(); i++ {
			key := gronKey{n: i, array: true}
			if v == '{' {
				name, err := d.Token()
				if err != nil {
					return nil, err
				}
				key = gronKey{name: name.(string)}
				g.p.Hold(len(key.name))
			}
			m, err := g.decode(d, depth+1)
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return nil, err
			}
			n.set(key, m)
		}
		if _, err := d.Token(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		return n, nil
	case string:
		g.p.Hold(len(v))
		return &gronNode{kind: 'v', text: gronQuote(v)}, nil
	case json.Number:
		return &gronNode{kind: 'v', text: v.String()}, nil
	case bool:
		return &gronNode{kind: 'v', text: strconv.FormatBool(v)}, nil
	}
	return &gronNode{kind: 'v', text: "null"}, nil
}

// set adds a member, or replaces the one of that name.
func (n *gronNode) set(k gronKey, m *gronNode) {
	if n.index == nil {
		n.index = map[gronKey]int{}
	}
	if at, ok := n.index[k]; ok {
		n.members[at] = m
		return
	}
	n.index[k] = len(n.keys)
	n.keys, n.members = append(n.keys, k), append(n.members, m)
}

// order is the members as gron prints them: plain names, then quoted ones, each in byte order.
func (n *gronNode) order() []int {
	at := make([]int, len(n.keys))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int {
		a, b := n.keys[i], n.keys[j]
		if a.array && b.array {
			return a.n - b.n
		}
		x, y := gronIdentifier(a.name), gronIdentifier(b.name)
		if x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.name, b.name)
	})
	return at
}

var gronReserved = program.WordSet("break case catch class const continue debugger default delete do else export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with yield")

func gronIdentifier(s string) bool {
	for i, r := range s {
		if r != '$' && r != '_' && !unicode.IsLetter(r) && !unicode.Is(unicode.Nl, r) &&
			(i == 0 || !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) && r != '\u200c' && r != '\u200d') {
			return false
		}
	}
	return s != "" && !gronReserved[s]
}

// gronQuote is a JSON string with nothing escaped that need not be.
func gronQuote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always has an encoding
	return strings.TrimSuffix(b.String(), "\n")
}

type gronPath []gronKey

func (g *gronRun) paint(code, s string) string {
	if !g.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (g *gronRun) render(path gronPath) string {
	var b strings.Builder
	for i, k := range path {
		switch {
		case i == 0:
			b.WriteString(g.paint("34;1", k.name))
		case k.array:
			b.WriteString(g.paint("35", "[") + g.paint("31", strconv.Itoa(k.n)) + g.paint("35", "]"))
		case gronIdentifier(k.name):
			b.WriteString("." + g.paint("34;1", k.name))
		default:
			b.WriteString(g.paint("35", "[") + g.paint("33", gronQuote(k.name)) + g.paint("35", "]"))
		}
	}
	return b.String()
}

func (g *gronRun) print(path gronPath, n *gronNode) {
	g.p.Tick(1 + len(path)>>2)
	text := n.text
	if n.kind != 'v' {
		text = map[byte]string{'{': "{}", '[': "[]"}[n.kind]
	}
	if g.asJSON {
		parts := make([]string, 0, len(path))
		for _, k := range path[1:] {
			if k.array {
				parts = append(parts, strconv.Itoa(k.n))
			} else {
				parts = append(parts, gronQuote(k.name))
			}
		}
		g.p.Out.WriteString("[[" + strings.Join(parts, ",") + "]," + text + "]\n")
	} else {
		code := "31"
		switch {
		case n.kind != 'v':
			code = "35"
		case text[0] == '"':
			code = "33"
		case text == "true" || text == "false" || text == "null":
			code = "36"
		}
		g.p.Out.WriteString(g.render(path) + " = " + g.paint(code, text) + ";\n")
	}
	for _, i := range n.order() {
		g.print(append(path, n.keys[i]), n.members[i]) // one path for all: it is as deep as the document
	}
}

func (g *gronRun) stream(in io.Reader) int {
	g.print(gronPath{{name: "json"}}, &gronNode{kind: '['})
	l := program.NewLineReader(g.p, in, '\n')
	defer l.Close()
	i := 0
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		n, err := g.decode(d, 0)
		if err != nil {
			return g.fail(3, "failed to form statements: %s", err)
		}
		g.print(gronPath{{name: "json"}, {n: i, array: true}}, n)
		i++
	}
	return 0
}

// statement reads "path = value;". text is how gron shows it; n is nil when the value is no JSON or the end is missing.
func (g *gronRun) statement(line string) (path gronPath, n *gronNode, text string, ok bool) {
	i := 0
	word := func() string {
		start := i
		for i < len(line) && !strings.ContainsRune(".[ =;\t]", rune(line[i])) {
			i++
		}
		return line[start:i]
	}
	blank := func() {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
	}
	if g.asJSON {
		return g.jsonStatement(line)
	}
	blank()
	first := word()
	if !gronIdentifier(first) {
		return nil, nil, "", false
	}
	path = gronPath{{name: first}}
	for i < len(line) {
		if line[i] == '.' {
			i++
			w := word()
			if !gronIdentifier(w) {
				return nil, nil, "", false
			}
			path = append(path, gronKey{name: w})
			continue
		}
		if line[i] != '[' {
			break
		}
		end := strings.IndexByte(line[i:], ']')
		if end > 0 && i+1 < len(line) && line[i+1] == '"' {
			d := json.NewDecoder(strings.NewReader(line[i+1:]))
			t, err := d.Token()
			name, isString := t.(string)
			if err != nil || !isString {
				return nil, nil, "", false
			}
			i += 1 + int(d.InputOffset())
			if i >= len(line) || line[i] != ']' {
				return nil, nil, "", false
			}
			i++
			path = append(path, gronKey{name: name})
			continue
		}
		if end < 0 {
			return nil, nil, "", false
		}
		k, err := strconv.Atoi(line[i+1 : i+end])
		if err != nil || k < 0 || k > gronMaxIndex {
			return nil, nil, "", false
		}
		i += end + 1
		path = append(path, gronKey{n: k, array: true})
	}
	blank()
	shown := &gronRun{}
	text = shown.render(path)
	if i >= len(line) || line[i] != '=' {
		return path, nil, text, len(path) > 1
	}
	rest := strings.TrimSpace(line[i+1:])
	value, ended := strings.CutSuffix(rest, ";")
	text += " = " + rest
	d := json.NewDecoder(strings.NewReader(value))
	d.UseNumber()
	n, err := g.decode(d, 0)
	if err != nil || !ended {
		return path, nil, text, true
	}
	return path, n, text, true
}

func (g *gronRun) jsonStatement(line string) (gronPath, *gronNode, string, bool) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	n, err := g.decode(d, 0)
	if err != nil || n.kind != '[' || len(n.members) != 2 {
		return nil, nil, line, false
	}
	path := gronPath{{name: "json"}}
	for _, m := range n.members[0].members {
		if s, err := strconv.Unquote(m.text); err == nil {
			path = append(path, gronKey{name: s})
		} else if k, err := strconv.Atoi(m.text); err == nil && k >= 0 && k <= gronMaxIndex {
			path = append(path, gronKey{n: k, array: true})
		}
	}
	return path, n.members[1], line, true
}

// each calls f with the statements of the input until it returns a status that is not zero.
func (g *gronRun) each(in io.Reader, f func(path gronPath, n *gronNode, text string) int) int {
	l := program.NewLineReader(g.p, in, '\n')
	defer l.Close()
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		path, n, text, ok := g.statement(strings.TrimRight(string(line), "\r\n"))
		if !ok {
			continue // what grep puts between its matches, for one
		}
		if status := f(path, n, text); status != 0 {
			return status
		}
	}
	return 0
}

func (g *gronRun) ungron(in io.Reader) int {
	root := &gronNode{}
	parsed := false
	status := g.each(in, func(path gronPath, n *gronNode, text string) int {
		if n == nil {
			g.p.Out.Flush()
			fmt.Fprintf(g.p.Err, "ungron failed for `%s`: statement has no value\n", text)
			return 5
		}
		parsed = true
		root.assign(path, n)
		return 0
	})
	if status != 0 {
		return status
	}
	if !parsed {
		g.p.Err.WriteString("no statements were parsed\n")
		return 5
	}
	// The first name of every path is the same and stands for the whole.
	if len(root.members) == 1 {
		root = root.members[0]
	}
	g.indent(root, "")
	g.p.Out.WriteString("\n")
	return 0
}

func (n *gronNode) assign(path gronPath, v *gronNode) {
	if len(path) == 0 {
		if (v.kind == '{' || v.kind == '[') && len(v.members) == 0 && n.kind == v.kind {
			return // it has members already
		}
		*n = *v
		return
	}
	kind := byte('{')
	if path[0].array {
		kind = '['
	}
	if n.kind != kind {
		*n = gronNode{kind: kind}
	}
	at, ok := n.index[path[0]]
	if !ok {
		n.set(path[0], &gronNode{})
		at = len(n.members) - 1
	}
	n.members[at].assign(path[1:], v)
}

func (g *gronRun) indent(n *gronNode, in string) {
	g.p.Tick(1)
	out := g.p.Out
	switch {
	case n.kind == 0:
		out.WriteString("null")
		return
	case n.kind == 'v':
		code := "31"
		switch {
		case n.text[0] == '"':
			code = "33"
		case n.text == "true" || n.text == "false" || n.text == "null":
			code = "36"
		}
		out.WriteString(g.paint(code, n.text))
		return
	case n.kind == '[':
		if len(n.members) == 0 {
			out.WriteString("[]")
			return
		}
		out.WriteString("[\n")
		next := 0
		for c, i := range n.order() {
			for ; next < n.keys[i].n; next++ {
				out.WriteString(in + "  null,\n")
			}
			next++
			out.WriteString(in + "  ")
			g.indent(n.members[i], in+"  ")
			if c < len(n.members)-1 {
				out.WriteString(",")
			}
			out.WriteString("\n")
		}
		out.WriteString(in + "]")
	default:
		if len(n.members) == 0 {
			out.WriteString("{}")
			return
		}
		keys := make([]int, len(n.keys))
		for i := range keys {
			keys[i] = i
		}
		slices.SortFunc(keys, func(i, j int) int { return cmp.Compare(n.keys[i].name, n.keys[j].name) })
		out.WriteString("{\n")
		for c, i := range keys {
			out.WriteString(in + "  " + g.paint("34;1", gronQuote(n.keys[i].name)) + ": ")
			g.indent(n.members[i], in+"  ")
			if c < len(keys)-1 {
				out.WriteString(",")
			}
			out.WriteString("\n")
		}
		out.WriteString(in + "}")
	}
}

// values prints the values of assignments, strings without their quotes.
func (g *gronRun) values(in io.Reader) int {
	return g.each(in, func(_ gronPath, n *gronNode, _ string) int {
		if n == nil || n.kind != 'v' {
			return 0
		}
		text := n.text
		if text[0] == '"' {
			var s string
			if json.Unmarshal([]byte(text), &s) == nil {
				text = s
			}
		}
		g.p.Out.WriteString(text + "\n")
		return 0
	})
}
