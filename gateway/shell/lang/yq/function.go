package yq

import (
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

var errNoDate = errors.New("no date")

// maxMatch bounds the text that a regular expression is matched with: a match is not ended in its midst.
const maxMatch = 256 << 10

type function struct {
	least, most int
	call        func(m *Machine, e *expr, c context) context
}

// formats are those with an @.
var formats = map[string]bool{}

var functions map[string]function

// one is a function of a node without arguments.
func unary(f func(m *Machine, r *Node) *node) function {
	return function{0, 0, func(m *Machine, _ *expr, c context) context {
		return m.each(c, func(r *Node, add func(*Node)) {
			if n := f(m, r); n != nil {
				add(m.calculated(n, r))
			}
		})
	}}
}

// value is a function of a node and the first result of its argument.
func value(f func(m *Machine, r *Node, arg *node) *node) function {
	return function{1, 1, func(m *Machine, e *expr, c context) context {
		return m.each(c, func(r *Node, add func(*Node)) {
			arg := m.one(e.args[0], c, r)
			if arg == nil {
				arg = null()
			}
			if n := f(m, r, arg); n != nil {
				add(m.calculated(n, r))
			}
		})
	}}
}

// by is a function of a node and an expression for its items.
func by(least int, f func(m *Machine, r *Node, item func(*node) *node) *node) function {
	return function{least, 1, func(m *Machine, e *expr, c context) context {
		return m.each(c, func(r *Node, add func(*Node)) {
			item := func(n *node) *node { return resolve(n) }
			if len(e.args) > 0 {
				item = func(n *node) *node {
					if x := m.one(e.args[0], c, child(r, n)); x != nil {
						return x
					}
					return null()
				}
			}
			if n := f(m, r, item); n != nil {
				add(m.calculated(n, r))
			}
		})
	}}
}

func init() {
	stringly := func(f func(string) string) function {
		return unary(func(_ *Machine, r *Node) *node {
			n := resolve(r.n)
			if tagOf(n) != "!!str" {
				fail("cannot change case with %s, can only operate on strings. ", tagOf(n))
			}
			return &node{Kind: n.Kind, Tag: n.Tag, Style: n.Style, Value: f(n.Value)}
		})
	}
	indexes := func(f func(r *Node) int) function {
		return function{0, 0, func(m *Machine, _ *expr, c context) context {
			return m.each(c, func(r *Node, add func(*Node)) { add(m.loose(integer(f(r)), nil)) })
		}}
	}
	attribute := func(f func(r *Node) string) function {
		return unary(func(_ *Machine, r *Node) *node { return text(f(r)) })
	}
	file := indexes(func(r *Node) int { return r.from.File })
	document := indexes(func(r *Node) int { return r.split })
	env := func(typed bool) function {
		return function{1, 1, func(m *Machine, e *expr, c context) context {
			name := e.args[0].lit.Value
			v, ok := m.Env(name)
			if !ok {
				fail("value for env variable '%s' not provided in env()", name)
			}
			n := text(v)
			if typed {
				n = m.decode("yaml", []byte(v))
			}
			if len(c.nodes) == 0 {
				return c.with(m.loose(n, nil))
			}
			return m.each(c, func(r *Node, add func(*Node)) { add(m.loose(m.copied(n), r)) })
		}}
	}
	encode := func(format string, indent int) function {
		return function{0, 1, func(m *Machine, e *expr, c context) context {
			return m.each(c, func(r *Node, add func(*Node)) {
				n := indent
				if len(e.args) > 0 {
					if a := m.one(e.args[0], c, r); a != nil {
						i, _ := whole(a)
						n = int(min(max(i, 0), 16))
					}
				}
				add(m.calculated(m.formatted(format, r, n), r))
			})
		}}
	}
	decode := func(format string) function {
		return unary(func(m *Machine, r *Node) *node { return m.decode(format, []byte(resolve(r.n).Value)) })
	}
	load := func(format string) function {
		return value(func(m *Machine, _ *Node, arg *node) *node {
			data, err := m.Read(arg.Value)
			if err != nil {
				fail("failed to load %s: %w", arg.Value, err)
			}
			if format == "" {
				return text(string(data))
			}
			return m.decode(format, data)
		})
	}
	quantifier := func(all, each bool) function {
		return function{0, 1, func(m *Machine, e *expr, c context) context {
			return m.each(c, func(r *Node, add func(*Node)) {
				n := resolve(r.n)
				result := all
				for i, x := range n.Content {
					if isMap(n) && i%2 == 0 {
						continue
					}
					hit := truth(x)
					if each && len(e.args) > 0 {
						v := m.one(e.args[0], c, child(r, x))
						hit = v != nil && truth(v)
					}
					if hit != all {
						result = !all
						break
					}
				}
				add(m.loose(boolean(result), r))
			})
		}}
	}
	extreme := func(sign int) function {
		return by(0, func(m *Machine, r *Node, item func(*node) *node) *node {
			var best *node
			for _, x := range resolve(r.n).Content {
				if best == nil || sign*m.order(item(x), item(best)) > 0 {
					best = x
				}
			}
			if best == nil {
				return nil
			}
			return m.copied(best)
		})
	}
	functions = map[string]function{
		"length": unary(fnLength), "keys": unary(fnKeys), "key": unary(fnKey),
		"is_key": unary(func(_ *Machine, r *Node) *node { return boolean(r.isKey) }),
		"has":    value(fnHas), "map": {1, 1, fnMap}, "map_values": {1, 1, fnMapValues}, "filter": {1, 1, fnFilter},
		"select": {1, 1, fnSelect}, "del": {1, 1, fnDel},
		"delpaths": value(fnDelpaths), "pick": value(fnPick), "omit": value(fnOmit), "to_entries": unary(fnToEntries),
		"from_entries": unary(fnFromEntries),
		"with_entries": {1, 1, fnWithEntries}, "sort": by(0, fnSort), "sort_by": {1, 1, fnSortBy},
		"sort_keys": {1, 1, fnSortKeys}, "sortKeys": {1, 1, fnSortKeys},
		"group_by": by(1, fnGroup), "unique": by(0, fnUnique), "unique_by": by(1, fnUnique), "flatten": {0, 1, fnFlatten},
		"reverse": unary(fnReverse),
		"first":   {0, 1, fnFirst}, "min": extreme(-1), "max": extreme(1), "any": quantifier(false, false),
		"all": quantifier(true, false), "any_c": quantifier(false, true),
		"all_c": quantifier(true, true), "contains": value(fnContains),
		"not":   unary(func(_ *Machine, r *Node) *node { return boolean(!truth(r.n)) }),
		"empty": {0, 0, func(_ *Machine, _ *expr, c context) context { return c.with() }},
		"error": {1, 1, func(m *Machine, e *expr, c context) context {
			for _, r := range c.nodes {
				if n := m.one(e.args[0], c, r); n != nil {
					fail("%s", n.Value)
				}
			}
			return c
		}},
		"path": unary(func(_ *Machine, r *Node) *node { return sequence(r.path()...) }), "getpath": {1, 1, fnGetpath},
		"setpath": {2, 2, fnSetpath},
		"parent":  {0, 1, fnParent}, "parents": unary(fnParents), "root": {0, 0, fnRoot},
		"split": value(func(m *Machine, r *Node, a *node) *node { return m.split(resolve(r.n).Value, a.Value) }),
		"join":  value(fnJoin),
		"sub":   {1, 2, fnSub}, "test": {1, 2, fnMatch}, "match": {1, 2, fnMatch}, "capture": {1, 2, fnMatch},
		"upcase": stringly(strings.ToUpper), "downcase": stringly(strings.ToLower), "ascii_upcase": stringly(strings.ToUpper),
		"ascii_downcase": stringly(strings.ToLower), "trim": stringly(strings.TrimSpace),
		"to_string": unary(fnString), "tostring": unary(fnString), "to_number": unary(fnNumber), "tonumber": unary(fnNumber),
		"env": env(true), "strenv": env(false), "envsubst": {0, 3, fnEnvsubst}, "load": load("yaml"), "load_str": load(""),
		"strload": load(""), "load_xml": load("xml"),
		"load_props": load("props"), "load_base64": load("base64"), "load_csv": load("csv"), "load_tsv": load("tsv"),
		"now": {0, 0, func(m *Machine, _ *expr, c context) context {
			return m.each(c, func(r *Node, add func(*Node)) {
				add(m.loose(number(m.Now().Format(time.RFC3339), "!!timestamp"), r))
			})
		}},
		"from_unix": unary(fnFromUnix), "to_unix": unary(fnToUnix), "format_datetime": value(fnFormatDate),
		"with_dtf": {2, 2, fnWithLayout}, "tz": value(fnZone),
		"tag":  attribute(func(r *Node) string { return tagOf(r.n) }),
		"type": attribute(func(r *Node) string { return tagOf(r.n) }), "kind": attribute(kind),
		"style":  attribute(func(r *Node) string { return styleName(r.n) }),
		"anchor": attribute(func(r *Node) string { return r.n.Anchor }),
		"alias": attribute(func(r *Node) string {
			if r.n.Kind == yaml.AliasNode {
				return r.n.Value
			}
			return ""
		}),
		"lineComment": attribute(func(r *Node) string { return uncomment(*r.line()) }),
		"headComment": attribute(func(r *Node) string { return uncomment(r.head()) }),
		"footComment": attribute(func(r *Node) string { return uncomment(r.foot()) }), "explode": {1, 1, fnExplode},
		"line":     unary(func(_ *Machine, r *Node) *node { return integer(r.n.Line) }),
		"column":   unary(func(_ *Machine, r *Node) *node { return integer(r.n.Column) }),
		"filename": unary(func(_ *Machine, r *Node) *node { return text(r.from.Name) }), "file_index": file, "fileIndex": file, "fi": file,
		"document_index": document, "documentIndex": document, "di": document,
		"split_doc": {0, 0, fnSplitDocument}, "splitDoc": {0, 0, fnSplitDocument}, "eval": {1, 1, fnEval},
		"array_to_map": unary(fnArrayToMap), "pivot": unary(fnPivot), "with": {2, 2, fnWith},
		"to_yaml": encode("yaml", 2), "to_json": encode("json", 2), "tojson": encode("json", 2),
		"to_props": encode("props", 2), "to_csv": encode("csv", 0), "to_tsv": encode("tsv", 0),
		"to_xml": encode("xml", 2), "from_yaml": decode("yaml"), "from_json": decode("json"), "fromjson": decode("json"),
		"from_props": decode("props"), "from_csv": decode("csv"),
		"from_tsv": decode("tsv"), "from_xml": decode("xml"), "fromyaml": decode("yaml"),
	}
	for alias, name := range map[string]string{"line_comment": "lineComment", "head_comment": "headComment",
		"foot_comment": "footComment"} {
		functions[alias] = functions[name]
	}
	for _, f := range []string{"yaml", "json", "props", "csv", "tsv", "xml", "yamld", "jsond", "propsd", "csvd", "tsvd",
		"xmld", "base64", "base64d", "uri", "urid", "sh"} {
		formats[f] = true
	}
}

func kind(r *Node) string {
	switch r.n.Kind {
	case yaml.MappingNode:
		return "map"
	case yaml.SequenceNode:
		return "seq"
	case yaml.AliasNode:
		return "alias"
	}
	return "scalar"
}

func (m *Machine) encode(format string, n *node, indent int) string {
	s, err := m.Encode(format, n, indent)
	if err != nil {
		panic(failure{err})
	}
	m.Hold(len(s))
	return s
}

func (m *Machine) decode(format string, data []byte) *node {
	if format == "base64" {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
		if err != nil {
			panic(failure{err})
		}
		return text(string(b))
	}
	n, err := m.Decode(format, data)
	if err != nil {
		panic(failure{err})
	}
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return null()
		}
		inner := n.Content[0]
		if n.HeadComment != "" {
			inner.HeadComment = n.HeadComment
		}
		return inner
	}
	return n
}

// formatted is a node as a text of a format; indent -1 is that of the @ forms.
func (m *Machine) formatted(format string, r *Node, indent int) *node {
	n := resolve(r.n)
	scalarOnly := func(what string) string {
		if !isScalar(n) {
			fail("cannot encode %s as %s, can only operate on strings. Please first pipe through another encoding operator to convert the value to a string", tagOf(n), what)
		}
		if isNull(n) && n.Value != "" {
			return ""
		}
		return n.Value
	}
	switch format {
	case "base64":
		return text(base64.StdEncoding.EncodeToString([]byte(scalarOnly("base64"))))
	case "base64d":
		s := strings.TrimRight(strings.TrimSpace(scalarOnly("base64")), "=")
		b, err := base64.RawStdEncoding.DecodeString(s)
		if err != nil {
			panic(failure{err})
		}
		return text(string(b))
	case "uri":
		return text(url.QueryEscape(scalarOnly("URI")))
	case "urid":
		s, err := url.QueryUnescape(scalarOnly("URI"))
		if err != nil {
			panic(failure{err})
		}
		return text(s)
	case "sh":
		return text(shellQuoted(scalarOnly("URI")))
	case "csv", "tsv":
		if isSeq(n) && len(n.Content) > 0 && isScalar(resolve(n.Content[0])) {
			n = sequence(n)
		}
		return text(strings.TrimSuffix(m.encode(format, n, 0), "\n"))
	case "json":
		if indent < 0 {
			return text(strings.TrimSuffix(m.encode(format, n, 0), "\n"))
		}
		s := m.encode(format, n, indent)
		if indent == 0 {
			s = strings.TrimSuffix(s, "\n")
		}
		return text(s)
	}
	if format == "props" {
		b := &builder{m: m}
		m.properties(b, "", r, 0)
		return text(b.String())
	}
	if d, ok := strings.CutSuffix(format, "d"); ok {
		return m.decode(d, []byte(n.Value))
	}
	return text(m.encode(format, n, max(indent, 2)))
}

// shellQuoted quotes the parts of a text that a shell would not take as they are.
func shellQuoted(s string) string {
	var b strings.Builder
	quoted := false
	for _, r := range s {
		safe := r < 128 && (isLetter(byte(r)) || isDigit(byte(r)) || strings.ContainsRune("@%+=:,./-", r))
		switch {
		case r == '\'':
			if quoted {
				b.WriteByte('\'')
				quoted = false
			}
			b.WriteString(`\'`)
			continue
		case !safe && !quoted:
			b.WriteByte('\'')
			quoted = true
		}
		b.WriteRune(r)
	}
	if quoted {
		b.WriteByte('\'')
	}
	return b.String()
}

func fnLength(_ *Machine, r *Node) *node {
	n := resolve(r.n)
	switch {
	case isNull(n):
		return integer(0)
	case isMap(n):
		return integer(len(n.Content) / 2)
	case isSeq(n):
		return integer(len(n.Content))
	}
	return integer(utf8.RuneCountInString(n.Value))
}

func fnKeys(m *Machine, r *Node) *node {
	n := resolve(r.n)
	s := sequence()
	switch {
	case isMap(n):
		for i := 0; i < len(n.Content); i += 2 {
			s.Content = append(s.Content, plain(m.copied(n.Content[i])))
		}
	case isSeq(n):
		for i := range n.Content {
			m.Hold(160)
			s.Content = append(s.Content, integer(i))
		}
	default:
		fail("cannot get keys of %s, keys only works for maps and arrays", tagOf(n))
	}
	return s
}

func fnKey(_ *Machine, r *Node) *node {
	switch {
	case r.key != nil:
		return &node{Kind: yaml.ScalarNode, Tag: r.key.Tag, Value: r.key.Value}
	case r.parent != nil:
		return integer(r.index)
	}
	return nil
}

func fnHas(m *Machine, r *Node, arg *node) *node {
	n := resolve(r.n)
	switch {
	case isMap(n):
		return boolean(m.find(n, arg.Value) >= 0)
	case isSeq(n):
		i, ok := whole(arg)
		return boolean(ok && i >= 0 && int(min(i, 1<<40)) < len(n.Content))
	}
	return boolean(false)
}

func fnMap(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		s := sequence()
		s.Style = resolve(r.n).Style & yaml.FlowStyle
		m.children(r, func(x *Node) {
			for _, y := range m.on(e.args[0], c, x) {
				s.Content = append(s.Content, m.copied(y.n))
			}
		})
		add(m.calculated(s, r))
	})
}

func fnMapValues(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		d := *r
		d.n = m.copied(r.n)
		m.children(&d, func(x *Node) {
			if list := m.on(e.args[0], c, x); len(list) > 0 {
				m.update(x, m.copied(list[0].n), false)
			}
		})
		add(m.calculated(d.n, r))
	})
}

func fnFilter(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		s := sequence()
		s.Style = resolve(r.n).Style & yaml.FlowStyle
		m.children(r, func(x *Node) {
			if v := m.one(e.args[0], c, x); v != nil && truth(v) {
				s.Content = append(s.Content, m.copied(x.n))
			}
		})
		add(m.calculated(s, r))
	})
}

func fnSelect(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		for _, x := range m.on(e.args[0], c, r) {
			if truth(x.n) {
				add(r)
				return
			}
		}
	})
}

func fnDel(m *Machine, e *expr, c context) context {
	for _, x := range m.eval(e.args[0], c).nodes {
		m.remove(x)
	}
	return c
}

func (m *Machine) remove(x *Node) {
	if x.parent == nil || x.loose {
		if x.parent == nil {
			*x.n = *null()
		}
		return
	}
	p := resolve(x.parent.n)
	m.Tick(1 + len(p.Content)>>4)
	switch {
	case isMap(p):
		for i := 0; i+1 < len(p.Content); i += 2 {
			if p.Content[i+1] == x.n || x.isKey && p.Content[i] == x.n {
				p.Content = slices.Delete(p.Content, i, i+2)
				return
			}
		}
	case isSeq(p):
		if i := slices.Index(p.Content, x.n); i >= 0 {
			p.Content = slices.Delete(p.Content, i, i+1)
		}
	}
}

// at walks a path of keys and indexes.
func (m *Machine) at(r *Node, path *node) *Node {
	for _, k := range path.Content {
		var next *Node
		if i, ok := whole(k); ok && !isMap(resolve(r.n)) {
			m.item(r, int(i), func(x *Node) { next = x })
		} else {
			m.field(r, k.Value, func(x *Node) { next = x })
		}
		if next == nil {
			return nil
		}
		r = next
	}
	return r
}

func fnDelpaths(m *Machine, r *Node, arg *node) *node {
	d := *r
	d.n = m.copied(r.n)
	var list []*Node
	for _, p := range arg.Content {
		if !isSeq(p) {
			fail("DELPATHS: expected entry [%d] to be a sequence, but its a %s. Note that delpaths takes an array of path arrays, e.g. [[\"a\", \"b\"]]", 0, tagOf(p))
		}
		if x := m.at(&d, p); x != nil {
			list = append(list, x)
		}
	}
	for _, x := range list {
		m.remove(x)
	}
	return d.n
}

func fnGetpath(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		if p := m.one(e.args[0], c, r); p != nil {
			if x := m.at(r, p); x != nil {
				add(x)
			}
		}
	})
}

func fnSetpath(m *Machine, e *expr, c context) context {
	for _, r := range c.nodes {
		p, v := m.one(e.args[0], c, r), m.one(e.args[1], c, r)
		if p == nil || v == nil {
			continue
		}
		if x := m.at(r, p); x != nil {
			m.update(x, m.copied(v), false)
		}
	}
	return c
}

func fnPick(m *Machine, r *Node, arg *node) *node {
	n := resolve(r.n)
	out := *n
	out.Content = nil
	for _, k := range arg.Content {
		switch {
		case isMap(n):
			if i := m.find(n, k.Value); i >= 0 {
				out.Content = append(out.Content, m.copied(n.Content[i-1]), m.copied(n.Content[i]))
			}
		case isSeq(n):
			if i, ok := whole(k); ok && i >= 0 && int(min(i, 1<<40)) < len(n.Content) {
				out.Content = append(out.Content, m.copied(n.Content[i]))
			}
		default:
			fail("cannot pick indices from type %s (%s)", tagOf(n), r.where())
		}
	}
	return &out
}

func fnOmit(m *Machine, r *Node, arg *node) *node {
	n := resolve(r.n)
	out := *n
	out.Content = nil
	omitted := map[string]bool{}
	for _, k := range arg.Content {
		omitted[k.Value] = true
	}
	switch {
	case isMap(n):
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !omitted[n.Content[i].Value] {
				out.Content = append(out.Content, m.copied(n.Content[i]), m.copied(n.Content[i+1]))
			}
		}
	case isSeq(n):
		for i, x := range n.Content {
			if !omitted[strconv.Itoa(i)] {
				out.Content = append(out.Content, m.copied(x))
			}
		}
	default:
		fail("cannot omit indices from type %s (%s)", tagOf(n), r.where())
	}
	return &out
}

func fnToEntries(m *Machine, r *Node) *node {
	n := resolve(r.n)
	s := sequence()
	switch {
	case isMap(n):
		for i := 0; i+1 < len(n.Content); i += 2 {
			s.Content = append(s.Content, mapping(text("key"), m.copied(n.Content[i]), text("value"), m.copied(n.Content[i+1])))
		}
	case isSeq(n):
		for i, x := range n.Content {
			s.Content = append(s.Content, mapping(text("key"), integer(i), text("value"), m.copied(x)))
		}
	case isNull(n):
	default:
		fail("%s has no keys", tagOf(n))
	}
	return s
}

func fnFromEntries(m *Machine, r *Node) *node {
	out := mapping()
	for _, x := range resolve(r.n).Content {
		if x = resolve(x); !isMap(x) {
			fail("from entries only runs against arrays of maps")
		}
		k := -1
		for _, name := range []string{"key", "k", "name"} {
			if k = m.find(x, name); k >= 0 {
				break
			}
		}
		v := max(m.find(x, "value"), m.find(x, "v"))
		if k < 0 {
			fail("expected to find 'key' entry")
		}
		value := null()
		if v >= 0 {
			value = m.copied(x.Content[v])
		}
		m.Tick(len(out.Content) >> 4)
		if i := m.find(out, x.Content[k].Value); i >= 0 {
			out.Content[i] = value
			continue
		}
		out.Content = append(out.Content, m.copied(x.Content[k]), value)
	}
	return out
}

func fnWithEntries(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		entries := fnToEntries(m, r)
		kept := sequence()
		for i, x := range entries.Content {
			item := child(r, x)
			item.index = i
			for _, y := range m.on(e.args[0], c, item) {
				kept.Content = append(kept.Content, y.n)
			}
		}
		out := fnFromEntries(m, m.loose(kept, r))
		n := resolve(r.n)
		out.Style, out.HeadComment, out.LineComment, out.FootComment = n.Style, n.HeadComment, n.LineComment, n.FootComment
		add(m.calculated(out, r))
	})
}

// order compares for sorting: null, booleans, numbers, texts.
func (m *Machine) order(a, b *node) int {
	m.Tick(1)
	rank := func(n *node) int {
		switch {
		case isNull(n):
			return 0
		case tagOf(n) == "!!bool":
			return 1
		case isNumber(n):
			return 2
		case isScalar(n):
			return 3
		}
		return 4
	}
	if x, y := rank(a), rank(b); x != y {
		return x - y
	}
	switch rank(a) {
	case 1:
		x, y := truth(a), truth(b)
		switch {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case 2:
		x, _ := float(a)
		y, _ := float(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	case 3:
		if tagOf(a) == "!!timestamp" && tagOf(b) == "!!timestamp" {
			t, err1 := m.time(a.Value)
			u, err2 := m.time(b.Value)
			if err1 == nil && err2 == nil {
				return t.Compare(u)
			}
		}
		return strings.Compare(a.Value, b.Value)
	}
	return 0
}

func (m *Machine) needSeq(r *Node) *node {
	n := resolve(r.n)
	if !isSeq(n) {
		fail("node at path [%s] is not an array (it's a %s)", r.where(), tagOf(n))
	}
	return n
}

func fnSort(m *Machine, r *Node, _ func(*node) *node) *node {
	s := m.copied(m.needSeq(r))
	sort.SliceStable(s.Content, func(i, j int) bool { return m.order(resolve(s.Content[i]), resolve(s.Content[j])) < 0 })
	return s
}

func fnSortBy(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		s := m.copied(m.needSeq(r))
		type keyed struct {
			n    *node
			keys []*node
		}
		list := make([]keyed, len(s.Content))
		for i, x := range s.Content {
			list[i].n = x
			for _, k := range m.on(e.args[0], c, child(r, x)) {
				list[i].keys = append(list[i].keys, resolve(k.n))
			}
		}
		sort.SliceStable(list, func(i, j int) bool {
			a, b := list[i].keys, list[j].keys
			for k := 0; k < min(len(a), len(b)); k++ {
				if o := m.order(a[k], b[k]); o != 0 {
					return o < 0
				}
			}
			return len(a) < len(b)
		})
		for i, x := range list {
			s.Content[i] = x.n
		}
		add(m.calculated(s, r))
	})
}

func fnSortKeys(m *Machine, e *expr, c context) context {
	for _, x := range m.eval(e.args[0], c).nodes {
		n := resolve(x.n)
		if !isMap(n) {
			continue
		}
		m.Tick(8 * len(n.Content))
		type pair struct{ k, v *node }
		pairs := make([]pair, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			pairs = append(pairs, pair{n.Content[i], n.Content[i+1]})
		}
		sort.SliceStable(pairs, func(i, j int) bool { return pairs[i].k.Value < pairs[j].k.Value })
		for i, p := range pairs {
			n.Content[2*i], n.Content[2*i+1] = p.k, p.v
		}
	}
	return c
}

// keyText tells what is equal apart from what is not.
func (m *Machine) keyText(n *node) string {
	if isScalar(n) {
		if isNull(n) {
			return "null"
		}
		return tagOf(n) + n.Value
	}
	return m.encode("json", n, 0)
}

func fnGroup(m *Machine, r *Node, item func(*node) *node) *node {
	groups := sequence()
	at := map[string]*node{}
	for _, x := range m.needSeq(r).Content {
		k := m.keyText(item(x))
		if at[k] == nil {
			at[k] = sequence()
			groups.Content = append(groups.Content, at[k])
		}
		at[k].Content = append(at[k].Content, m.copied(x))
	}
	return groups
}

func fnUnique(m *Machine, r *Node, item func(*node) *node) *node {
	n := m.needSeq(r)
	s := sequence()
	s.Style = n.Style
	seen := map[string]bool{}
	for _, x := range n.Content {
		if k := m.keyText(item(x)); !seen[k] {
			seen[k] = true
			s.Content = append(s.Content, m.copied(x))
		}
	}
	return s
}

func fnFlatten(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		levels := -1
		if len(e.args) > 0 {
			if n := m.one(e.args[0], c, r); n != nil {
				i, _ := whole(n)
				levels = int(min(i, maxDepth))
			}
		}
		n := m.needSeq(r)
		s := *n
		s.Content = nil
		var walk func(list []*node, level int)
		walk = func(list []*node, level int) {
			for _, x := range list {
				m.Tick(1)
				if y := resolve(x); isSeq(y) && level != 0 && level > -maxDepth {
					walk(y.Content, level-1)
					continue
				}
				s.Content = append(s.Content, m.copied(x))
			}
		}
		walk(n.Content, levels)
		add(m.calculated(&s, r))
	})
}

func fnReverse(m *Machine, r *Node) *node {
	s := m.copied(m.needSeq(r))
	slices.Reverse(s.Content)
	return s
}

func fnFirst(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		done := false
		m.children(r, func(x *Node) {
			if done {
				return
			}
			if len(e.args) > 0 {
				if v := m.one(e.args[0], c, x); v == nil || !truth(v) {
					return
				}
			}
			done = true
			add(x)
		})
	})
}

func fnContains(m *Machine, r *Node, arg *node) *node {
	return boolean(m.contains(resolve(r.n), arg))
}

func (m *Machine) contains(a, b *node) bool {
	defer m.descend()()
	a, b = resolve(a), resolve(b)
	switch {
	case a.Kind != b.Kind && !(isScalar(a) && isScalar(b)):
		fail("%s cannot check contained in %s", tagOf(b), tagOf(a))
	case isMap(a):
		for i := 0; i+1 < len(b.Content); i += 2 {
			j := m.find(a, b.Content[i].Value)
			if j < 0 || a.Content[j].Kind != b.Content[i+1].Kind || !m.contains(a.Content[j], b.Content[i+1]) {
				return false
			}
		}
		return true
	case isSeq(a):
		for _, y := range b.Content {
			if !slices.ContainsFunc(a.Content, func(x *node) bool { return x.Kind == y.Kind && m.contains(x, y) }) {
				return false
			}
		}
		return true
	case tagOf(a) == "!!str":
		m.Tick(len(a.Value) >> 6)
		return strings.Contains(a.Value, b.Value)
	}
	return m.equal(a, b)
}

func fnParent(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		n := int64(1)
		if len(e.args) > 0 {
			if x := m.one(e.args[0], c, r); x != nil {
				n, _ = whole(x)
			}
		}
		for ; n > 0 && r != nil; n-- {
			r = r.parent
		}
		if r != nil {
			add(r)
		}
	})
}

func fnParents(m *Machine, r *Node) *node {
	s := sequence()
	for r = r.parent; r != nil; r = r.parent {
		s.Content = append(s.Content, m.copied(r.n))
	}
	return s
}

func fnRoot(m *Machine, _ *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		for r.parent != nil {
			r = r.parent
		}
		add(r)
	})
}

func (m *Machine) split(s, sep string) *node {
	list := sequence()
	if s == "" {
		return list
	}
	m.Tick(len(s) >> 3)
	n := strings.Count(s, sep) + 1
	m.Hold(160 * n)
	for _, x := range strings.Split(s, sep) {
		list.Content = append(list.Content, text(x))
	}
	return list
}

func fnJoin(m *Machine, r *Node, arg *node) *node {
	n := m.needSeq(r)
	var b strings.Builder
	for i, x := range n.Content {
		if i > 0 {
			b.WriteString(arg.Value)
		}
		if x = resolve(x); !isNull(x) {
			b.WriteString(x.Value)
		}
	}
	m.Hold(b.Len())
	return text(b.String())
}

// maxRegexp bounds regular expressions, whose compiler and matcher cannot be ended.
const maxRegexp = 1000

func (m *Machine) regexp(src string) *regexp.Regexp {
	m.Tick(len(src))
	if len(src) > maxRegexp {
		fail("regular expression too long")
	}
	re, err := regexp.Compile(src)
	if err != nil {
		panic(failure{err})
	}
	return re
}

func (m *Machine) subject(r *Node, what string) string {
	n := resolve(r.n)
	if tagOf(n) != "!!str" {
		fail("cannot %s with %s, can only %s strings. Hint: Most often you'll want to use '|=' over '=' for this operation",
			what, tagOf(n), what)
	}
	if len(n.Value) > maxMatch {
		fail("text is too large to match")
	}
	m.Tick(1 + len(n.Value)>>2)
	return n.Value
}

// values is all results of the arguments of a function.
func (m *Machine) values(e *expr, c context, r *Node) []string {
	var out []string
	for _, a := range e.args {
		for _, x := range m.on(a, c, r) {
			out = append(out, resolve(x.n).Value)
		}
	}
	return out
}

func fnSub(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		args := m.values(e, c, r)
		if len(args) < 2 {
			fail("sub needs a pattern and a replacement")
		}
		if isNull(resolve(r.n)) {
			add(r)
			return
		}
		s := m.subject(r, "substitute")
		out := m.regexp(args[0]).ReplaceAllString(s, args[1])
		m.Hold(len(out))
		t := text(out)
		t.Style = resolve(r.n).Style
		add(m.calculated(t, r))
	})
}

func fnMatch(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		args := m.values(e, c, r)
		if len(args) == 0 {
			fail("%s needs a pattern", e.text)
		}
		src, all := args[0], false
		if len(args) > 1 {
			for _, f := range args[1] {
				switch f {
				case 'g':
					all = true
				case 'i', 's', 'm':
					src = "(?" + string(f) + ")" + src
				default:
					fail("unrecognised match params '%s', please see docs at https://mikefarah.gitbook.io/yq/operators/string-operators", string(f))
				}
			}
		}
		if isNull(resolve(r.n)) {
			return
		}
		s := m.subject(r, "match")
		re := m.regexp(src)
		if e.text == "test" {
			add(m.loose(boolean(re.MatchString(s)), r))
			return
		}
		limit := 1
		if all {
			limit = -1
		}
		for _, loc := range re.FindAllStringSubmatchIndex(s, limit) {
			m.Tick(4)
			m.Hold(1000)
			add(m.calculated(matchNode(re, s, loc, e.text == "capture"), r))
		}
		if e.text == "capture" && !re.MatchString(s) {
			o := mapping()
			for i, name := range re.SubexpNames() {
				if i > 0 && name != "" {
					o.Content = append(o.Content, text(name), null())
				}
			}
			add(m.calculated(o, r))
		}
	})
}

func matchNode(re *regexp.Regexp, s string, loc []int, capture bool) *node {
	part := func(i int) (str, offset *node, length int) {
		if loc[2*i] < 0 {
			return null(), integer(-1), 0
		}
		t := s[loc[2*i]:loc[2*i+1]]
		return text(t), integer(utf8.RuneCountInString(s[:loc[2*i]])), utf8.RuneCountInString(t)
	}
	names := re.SubexpNames()
	if capture {
		o := mapping()
		for i := 1; i < len(names); i++ {
			if str, _, _ := part(i); names[i] != "" {
				o.Content = append(o.Content, text(names[i]), str)
			}
		}
		return o
	}
	captures := sequence()
	for i := 1; i < len(names); i++ {
		str, offset, n := part(i)
		o := mapping(text("string"), str, text("offset"), offset, text("length"), integer(n))
		if names[i] != "" {
			o.Content = append(o.Content, text("name"), text(names[i]))
		}
		captures.Content = append(captures.Content, o)
	}
	if len(captures.Content) == 0 {
		captures.Style = yaml.FlowStyle
	}
	str, offset, n := part(0)
	return mapping(text("string"), str, text("offset"), offset, text("length"), integer(n), text("captures"), captures)
}

func fnString(m *Machine, r *Node) *node {
	n := resolve(r.n)
	if isScalar(n) {
		return text(n.Value)
	}
	return text(m.display(n))
}

func fnNumber(_ *Machine, r *Node) *node {
	n := resolve(r.n)
	if isNumber(n) {
		return &node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	}
	if isScalar(n) {
		if _, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return number(n.Value, "!!int")
		}
		if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return number(n.Value, "!!float")
		}
		fail("cannot convert node value [%s] at path %s of tag %s to number", n.Value, r.where(), tagOf(n))
	}
	fail("cannot convert node at path %s of tag %s to number", r.where(), tagOf(n))
	return nil
}

// fnEnvsubst replaces $NAME, ${NAME}, ${NAME-default} and ${NAME:-default}.
func fnEnvsubst(m *Machine, e *expr, c context) context {
	flags := map[string]bool{}
	for _, a := range e.args {
		flags[a.lit.Value] = true
	}
	return m.each(c, func(r *Node, add func(*Node)) {
		n := resolve(r.n)
		if tagOf(n) != "!!str" {
			fail("cannot substitute with %s, can only substitute strings. Hint: Most often you'll want to use '|=' over '=' for this operation", tagOf(n))
		}
		t := text(m.substituted(n.Value, flags))
		t.Style = n.Style
		add(m.calculated(t, r))
	})
}

func (m *Machine) substituted(s string, flags map[string]bool) string {
	var b strings.Builder
	lookup := func(name string) (string, bool) {
		v, ok := m.Env(name)
		if !ok && flags["nu"] {
			fail("variable ${%s} not set", name)
		}
		if ok && v == "" && flags["ne"] {
			fail("variable ${%s} set but empty", name)
		}
		return v, ok
	}
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 || i+1 == len(s) {
			break
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if s[0] == '{' {
			end := strings.IndexByte(s, '}')
			if end < 0 {
				fail("closing brace expected")
			}
			body := s[1:end]
			s = s[end+1:]
			j := 0
			for j < len(body) && (isLetter(body[j]) || isDigit(body[j])) {
				j++
			}
			name, rest := body[:j], body[j:]
			fallback, colon, has := "", strings.HasPrefix(rest, ":"), false
			if d, ok := strings.CutPrefix(strings.TrimPrefix(rest, ":"), "-"); ok {
				fallback, has = d, true
			}
			if has {
				if v, ok := m.Env(name); ok && (v != "" || !colon) {
					b.WriteString(v)
				} else {
					b.WriteString(fallback)
				}
				continue
			}
			v, _ := lookup(name)
			b.WriteString(v)
			continue
		}
		j := 0
		for j < len(s) && (isLetter(s[j]) || j > 0 && isDigit(s[j])) {
			j++
		}
		if j == 0 {
			b.WriteByte('$')
			continue
		}
		v, _ := lookup(s[:j])
		b.WriteString(v)
		s = s[j:]
	}
	b.WriteString(s)
	m.Hold(b.Len())
	return b.String()
}

func fnFromUnix(_ *Machine, r *Node) *node {
	f, ok := float(resolve(r.n))
	if !ok {
		fail("from_unix only works on numbers, found %s instead", tagOf(resolve(r.n)))
	}
	return number(time.Unix(int64(f), 0).UTC().Format(time.RFC3339), "!!timestamp")
}

func fnToUnix(m *Machine, r *Node) *node {
	t, err := m.time(resolve(r.n).Value)
	if err != nil {
		fail("could not parse datetime of [%s]: %w", r.where(), err)
	}
	return integer(int(t.Unix()))
}

func fnFormatDate(m *Machine, r *Node, arg *node) *node {
	t, err := m.time(resolve(r.n).Value)
	if err != nil {
		fail("could not parse datetime of [%s]: %w", r.where(), err)
	}
	s := t.Format(arg.Value)
	n := number(s, "")
	n.Tag = n.ShortTag()
	return n
}

func fnWithLayout(m *Machine, e *expr, c context) context {
	old := m.layout
	defer func() { m.layout = old }()
	return m.each(c, func(r *Node, add func(*Node)) {
		if layout := m.one(e.args[0], c, r); layout != nil {
			m.layout = layout.Value
		}
		for _, x := range m.on(e.args[1], c, r) {
			add(x)
		}
		m.layout = old
	})
}

func fnZone(m *Machine, r *Node, arg *node) *node {
	zone := m.Zone(arg.Value)
	if zone == nil {
		fail("could not load tz [%s]", arg.Value)
	}
	n := resolve(r.n)
	t, err := m.time(n.Value)
	if err != nil {
		fail("could not parse datetime of [%s]: %w", r.where(), err)
	}
	layout := m.layout
	if layout == "" {
		layout = time.RFC3339
	}
	return number(t.In(zone).Format(layout), n.Tag)
}

func fnExplode(m *Machine, e *expr, c context) context {
	for _, x := range m.eval(e.args[0], c).nodes {
		m.explode(x.n, 0)
	}
	return c
}

// explode puts what they stand for in place of aliases and of <<.
func (m *Machine) explode(n *node, depth int) {
	if depth > maxDepth {
		fail("nested too deeply")
	}
	m.Tick(1)
	if n.Kind == yaml.AliasNode {
		target := resolve(n)
		copied := m.copied(target)
		copied.LineComment, copied.HeadComment, copied.FootComment = n.LineComment, n.HeadComment, n.FootComment
		*n = *copied
	}
	n.Anchor = ""
	if isMap(n) {
		merged := &node{Kind: yaml.MappingNode}
		put := func(k, v *node, over bool) {
			m.Tick(len(merged.Content) >> 4)
			if i := m.find(merged, k.Value); i >= 0 {
				if over {
					merged.Content[i] = v
				}
				return
			}
			merged.Content = append(merged.Content, k, v)
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Tag != "!!merge" {
				put(k, v, true)
				continue
			}
			list := []*node{resolve(v)}
			if isSeq(list[0]) {
				list = list[0].Content
			}
			for _, src := range slices.Backward(list) {
				src = m.copied(resolve(src))
				m.explode(src, depth+1)
				for j := 0; j+1 < len(src.Content); j += 2 {
					own := m.find(n, src.Content[j].Value) >= 0
					if !own {
						put(src.Content[j], src.Content[j+1], true)
					}
				}
			}
		}
		n.Content = merged.Content
	}
	for _, x := range n.Content {
		m.explode(x, depth+1)
	}
}

func fnSplitDocument(m *Machine, _ *expr, c context) context {
	i := 0
	return m.each(c, func(r *Node, add func(*Node)) {
		d := *r
		d.split = i
		i++
		add(&d)
	})
}

func fnEval(m *Machine, e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		src := m.one(e.args[0], c, r)
		if src == nil {
			return
		}
		p, err := Compile(src.Value)
		if err != nil {
			panic(failure{err})
		}
		for _, x := range m.on(p.e, c, r) {
			add(x)
		}
	})
}

func fnArrayToMap(m *Machine, r *Node) *node {
	out := mapping()
	for i, x := range m.needSeq(r).Content {
		if !isNull(resolve(x)) {
			out.Content = append(out.Content, integer(i), m.copied(x))
		}
	}
	return out
}

func fnPivot(m *Machine, r *Node) *node {
	n := m.needSeq(r)
	if len(n.Content) == 0 {
		return sequence()
	}
	switch head := resolve(n.Content[0]); {
	case isMap(head):
		out := mapping()
		for _, x := range n.Content {
			for i := 0; i+1 < len(resolve(x).Content); i += 2 {
				if k := resolve(x).Content[i]; m.find(out, k.Value) < 0 {
					out.Content = append(out.Content, plain(m.copied(k)), sequence())
				}
			}
		}
		for _, x := range n.Content {
			for i := 0; i+1 < len(out.Content); i += 2 {
				v := null()
				if j := m.find(resolve(x), out.Content[i].Value); j >= 0 {
					v = m.copied(resolve(x).Content[j])
				}
				out.Content[i+1].Content = append(out.Content[i+1].Content, v)
			}
		}
		return out
	case isSeq(head):
		widest := 0
		for _, x := range n.Content {
			widest = max(widest, len(resolve(x).Content))
		}
		out := sequence()
		for i := range widest {
			row := sequence()
			for _, x := range n.Content {
				v := null()
				if c := resolve(x).Content; i < len(c) {
					v = m.copied(c[i])
				}
				row.Content = append(row.Content, v)
			}
			out.Content = append(out.Content, row)
		}
		return out
	default:
		fail("can only pivot elements of !!seq or !!map types, received %s", tagOf(head))
	}
	return nil
}

func fnWith(m *Machine, e *expr, c context) context {
	for _, x := range m.eval(e.args[0], c).nodes {
		m.on(e.args[1], c, x)
	}
	return c
}
