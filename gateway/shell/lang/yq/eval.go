package yq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds how deep nodes may be within each other.
const maxDepth = 1000

// Machine is what an expression needs of the world.
type Machine struct {
	Tick   func(n int) // counts steps
	Hold   func(n int) // counts bytes
	Env    func(name string) (string, bool)
	Read   func(name string) ([]byte, error)
	Decode func(format string, text []byte) (*yaml.Node, error)
	Encode func(format string, n *yaml.Node, indent int) (string, error)
	Now    func() time.Time
	Zone   func(name string) *time.Location

	layout string // of dates, "" for RFC 3339
	depth  int
	below  int
}

// context is what an expression is evaluated on.
type context struct {
	nodes []*Node
	vars  *binding
	whole bool // all nodes together
}

// binding is a variable and those outside of it.
type binding struct {
	name  string
	value []*Node
	up    *binding
}

type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// caught, deferred, makes the panic of fail an error.
func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

// Eval evaluates a program on nodes: one document, or with together all of them.
func (m *Machine) Eval(p *Program, nodes []*Node, together bool, vars map[string]*yaml.Node) (out []*Node, err error) {
	defer caught(&err)
	c := context{nodes: nodes, whole: together}
	for k, v := range vars {
		c.vars = &binding{k, []*Node{m.loose(v, nil)}, c.vars}
	}
	return m.eval(p.e, c).nodes, nil
}

// loose is a node that stands in no document; like says whose document it belongs to.
func (m *Machine) loose(n *node, like *Node) *Node {
	r := &Node{n: n, from: &Source{}}
	if like != nil {
		r.from, r.split = like.from, like.split
	}
	return r
}

// calculated is a node that replaces another: it is reached as that was.
func (m *Machine) calculated(n *node, like *Node) *Node {
	if like == nil {
		return m.loose(n, nil)
	}
	return &Node{n: n, parent: like.parent, key: like.key, index: like.index, isKey: like.isKey, from: like.from,
		split: like.split, loose: true}
}

func (c context) with(nodes ...*Node) context {
	c.nodes = nodes
	return c
}

// on evaluates e on one node.
func (m *Machine) on(e *expr, c context, r *Node) []*Node {
	c.whole = false
	return m.eval(e, c.with(r)).nodes
}

// one is the first result of e on a node, nil when there is none.
func (m *Machine) one(e *expr, c context, r *Node) *node {
	if list := m.on(e, c, r); len(list) > 0 {
		return resolve(list[0].n)
	}
	return nil
}

func (m *Machine) eval(e *expr, c context) context {
	m.Tick(1 + len(c.nodes))
	if m.depth++; m.depth > maxDepth {
		fail("nested too deeply")
	}
	defer func() { m.depth-- }()
	switch e.op {
	case "self":
		return c
	case "literal":
		if len(c.nodes) == 0 {
			return c.with(m.loose(m.copied(e.lit), nil))
		}
		if c.whole {
			return c.with(m.loose(m.copied(e.lit), c.nodes[0]))
		}
		return m.each(c, func(r *Node, add func(*Node)) { add(m.loose(m.copied(e.lit), r)) })
	case "|":
		return m.eval(e.args[1], m.eval(e.args[0], c))
	case ",":
		left := m.eval(e.args[0], c).nodes
		return c.with(append(slices.Clone(left), m.eval(e.args[1], c).nodes...)...)
	case "block":
		return m.eval(e.args[1], c)
	case "try":
		return c.with(m.attempt(e.args[0], c)...)
	case "field":
		return m.each(c, func(r *Node, add func(*Node)) { m.field(r, e.text, add) })
	case "each":
		return m.each(c, func(r *Node, add func(*Node)) { m.children(r, add) })
	case "index":
		return m.index(e, c)
	case "slice":
		return m.slice(e, c)
	case "recurse":
		return m.each(c, func(r *Node, add func(*Node)) { m.recurse(r, e.text == "keys", 0, add) })
	case "variable":
		for b := c.vars; b != nil; b = b.up {
			if b.name == e.text {
				return c.with(b.value...)
			}
		}
		fail("variable '%s' is not defined", e.text)
	case "as", "ref":
		value := m.eval(e.args[0], c).nodes
		if e.op == "as" {
			copies := make([]*Node, len(value))
			for i, v := range value {
				d := *v
				d.n = m.copied(v.n)
				copies[i] = &d
			}
			value = copies
		}
		c.vars = &binding{e.text, value, c.vars}
		return c
	case "ireduce":
		return m.reduce(e, c)
	case "collect":
		return m.collect(e, c)
	case "object":
		return m.object(e, c)
	case "interpolate":
		return m.each(c, func(r *Node, add func(*Node)) {
			var b strings.Builder
			for _, a := range e.args {
				if n := m.one(a, c, r); n != nil {
					b.WriteString(m.display(n))
				}
			}
			m.Hold(b.Len())
			add(m.loose(text(b.String()), r))
		})
	case "call":
		if e.text[0] == '@' {
			return m.each(c, func(r *Node, add func(*Node)) { add(m.calculated(m.formatted(e.text[1:], r, -1), r)) })
		}
		return functions[e.text].call(m, e, c)
	}
	return m.operator(e, c)
}

// display is a node as text within a text.
func (m *Machine) display(n *node) string {
	if n = resolve(n); isScalar(n) {
		return n.Value
	}
	return strings.TrimSuffix(m.encode("yaml", n, 2), "\n")
}

func (m *Machine) each(c context, f func(r *Node, add func(*Node))) context {
	var out []*Node
	for _, r := range c.nodes {
		f(r, func(x *Node) {
			m.Tick(1)
			m.Hold(96)
			out = append(out, x)
		})
	}
	return c.with(out...)
}

// attempt is the results of an expression, none when it fails.
func (m *Machine) attempt(e *expr, c context) (out []*Node) {
	depth := m.depth
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			out, m.depth = nil, depth
		default:
			panic(r)
		}
	}()
	return m.eval(e, c).nodes
}

func child(parent *Node, n *node) *Node {
	return &Node{n: n, parent: parent, from: parent.from, split: parent.split}
}

// field walks to a key. A pattern with * walks to all that match.
func (m *Machine) field(r *Node, name string, add func(*Node)) {
	n := resolve(r.n)
	switch {
	case isMap(n):
		if strings.Contains(name, "*") && m.find(n, name) < 0 {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if m.matches(n.Content[i].Value, name) {
					add(m.entry(r, n, i))
				}
			}
			return
		}
		m.Tick(len(n.Content) >> 4)
		if i := m.find(n, name); i >= 0 {
			add(m.entry(r, n, i-1))
			return
		}
		if x := m.mergedIn(r, n, name, 0); x != nil {
			add(x)
			return
		}
		m.missing(r, name, add)
	case isSeq(n):
		i, err := strconv.Atoi(name)
		if err != nil {
			fail("cannot index array with '%s' (strconv.ParseInt: parsing %q: invalid syntax)", name, name)
		}
		m.item(r, i, add)
	case isNull(n):
		m.missing(r, name, add)
	}
}

func (m *Machine) missing(r *Node, name string, add func(*Node)) {
	x := child(r, null())
	x.key, x.loose = text(name), true
	add(x)
}

func (m *Machine) entry(r *Node, n *node, i int) *Node {
	x := child(r, n.Content[i+1])
	x.key = n.Content[i]
	return x
}

// mergedIn looks for a key in what << brings.
func (m *Machine) mergedIn(r *Node, n *node, name string, depth int) *Node {
	if depth > 50 {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" && n.Content[i].Value != "<<" {
			continue
		}
		from := resolve(n.Content[i+1])
		list := []*node{from}
		if isSeq(from) {
			list = from.Content
		}
		for _, f := range slices.Backward(list) {
			m.Tick(1)
			if f = resolve(f); !isMap(f) {
				continue
			}
			if j := m.find(f, name); j >= 0 {
				return m.entry(r, f, j-1)
			}
			if x := m.mergedIn(r, f, name, depth+1); x != nil {
				return x
			}
		}
	}
	return nil
}

func (m *Machine) item(r *Node, i int, add func(*Node)) {
	n := resolve(r.n)
	if i < 0 {
		if i += len(n.Content); i < 0 {
			fail("index [%d] out of range, array size is %d", i-len(n.Content), len(n.Content))
		}
	}
	if i < len(n.Content) && !isNull(n) {
		x := child(r, n.Content[i])
		x.index = i
		add(x)
		return
	}
	x := child(r, null())
	x.index, x.loose = i, true
	add(x)
}

func (m *Machine) children(r *Node, add func(*Node)) {
	defer m.descend()()
	n := resolve(r.n)
	switch {
	case isMap(n):
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Tag == "!!merge" {
				from := child(r, n.Content[i+1])
				from.key = n.Content[i]
				m.children(from, func(x *Node) {
					if x.key == nil || m.find(n, x.key.Value) < 0 {
						add(x)
					}
				})
				continue
			}
			add(m.entry(r, n, i))
		}
	case isSeq(n):
		for i := range n.Content {
			m.item(r, i, add)
		}
	}
}

func (m *Machine) index(e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		for _, base := range m.on(e.args[0], c, r) {
			for _, k := range m.on(e.args[1], c, r) {
				key := resolve(k.n)
				n := resolve(base.n)
				if i, ok := whole(key); ok && !isMap(n) {
					if isScalar(n) && !isNull(n) {
						continue
					}
					m.item(base, int(i), add)
					continue
				}
				if isMap(n) && m.find(n, key.Value) < 0 && m.mergedIn(base, n, key.Value, 0) == nil {
					x := child(base, null())
					x.key, x.loose = plain(m.copied(key)), true
					add(x)
					continue
				}
				m.field(base, key.Value, add)
			}
		}
	})
}

func (m *Machine) slice(e *expr, c context) context {
	return m.each(c, func(r *Node, add func(*Node)) {
		for _, base := range m.on(e.args[0], c, r) {
			n := resolve(base.n)
			runes := []rune(nil)
			size := len(n.Content)
			if isScalar(n) {
				if isNull(n) {
					add(m.calculated(null(), base))
					continue
				}
				runes = []rune(n.Value)
				size = len(runes)
			}
			bound := func(x *expr, other int) int {
				if x == nil {
					return other
				}
				k := m.one(x, c, r)
				if k == nil || isNull(k) {
					return other
				}
				i, ok := whole(k)
				if !ok {
					fail("cannot slice with %s", k.Value)
				}
				if i < 0 {
					i += int64(size)
				}
				return int(min(max(i, 0), int64(size)))
			}
			from, to := bound(e.args[1], 0), bound(e.args[2], size)
			to = max(from, to)
			if isScalar(n) {
				add(m.calculated(text(string(runes[from:to])), base))
				continue
			}
			s := sequence()
			for _, x := range n.Content[from:to] {
				s.Content = append(s.Content, m.copied(x))
			}
			add(m.calculated(s, base))
		}
	})
}

func (m *Machine) recurse(r *Node, keys bool, depth int, add func(*Node)) {
	if depth > maxDepth {
		fail("nested too deeply")
	}
	add(r)
	n := r.n
	if n.Kind == yaml.AliasNode {
		return
	}
	switch {
	case isMap(n):
		for i := 0; i+1 < len(n.Content); i += 2 {
			if keys {
				k := child(r, n.Content[i])
				k.key, k.isKey = n.Content[i], true
				add(k)
			}
			m.recurse(m.entry(r, n, i), keys, depth+1, add)
		}
	case isSeq(n):
		for i := range n.Content {
			m.item(r, i, func(x *Node) { m.recurse(x, keys, depth+1, add) })
		}
	}
}

func (m *Machine) reduce(e *expr, c context) context {
	as, block := e.args[0], e.args[1]
	if as.op != "as" && as.op != "ref" || block.op != "block" {
		fail("reduce must be given a block, got %s instead", block.op)
	}
	items := m.eval(as.args[0], c).nodes
	var like *Node
	if len(c.nodes) > 0 {
		like = c.nodes[0]
	}
	acc := m.eval(block.args[0], context{nodes: []*Node{m.loose(null(), like)}, vars: c.vars})
	for _, x := range items {
		inner := context{nodes: acc.nodes, vars: &binding{as.text, []*Node{x}, c.vars}}
		acc = m.eval(block.args[1], inner)
	}
	return c.with(acc.nodes...)
}

// collect makes one sequence of all results.
func (m *Machine) collect(e *expr, c context) context {
	if len(e.args) == 0 {
		return m.eval(&expr{op: "literal", lit: sequence()}, c)
	}
	gather := func(c context, like *Node) *Node {
		s := sequence()
		for _, x := range m.eval(e.args[0], c).nodes {
			n := m.copied(x.n)
			s.Content = append(s.Content, n)
		}
		return m.loose(s, like)
	}
	if c.whole || len(c.nodes) == 0 {
		var like *Node
		if len(c.nodes) > 0 {
			like = c.nodes[0]
		}
		return c.with(gather(c, like))
	}
	return m.each(c, func(r *Node, add func(*Node)) { add(gather(c.with(r), r)) })
}

// object makes mappings, one for each combination of the results.
func (m *Machine) object(e *expr, c context) context {
	nodes := c.nodes
	if len(nodes) == 0 {
		nodes = []*Node{m.loose(null(), nil)}
	}
	return m.each(c.with(nodes...), func(r *Node, add func(*Node)) {
		made := []*node{mapping()}
		for i := 0; i < len(e.args); i += 2 {
			keys, values := m.on(e.args[i], c, r), m.on(e.args[i+1], c, r)
			var next []*node
			for _, k := range keys {
				for _, v := range values {
					for _, base := range made {
						o := m.copied(base)
						key, value := plain(m.copied(resolve(k.n))), m.copied(v.n)
						if j := m.find(o, key.Value); j >= 0 {
							o.Content[j] = value
						} else {
							o.Content = append(o.Content, key, value)
						}
						next = append(next, o)
					}
				}
			}
			made = next
		}
		for _, o := range made {
			add(m.loose(o, r))
		}
	})
}

// attach puts a node that hangs nowhere into its document.
func (m *Machine) attach(r *Node) {
	if !r.loose || r.parent == nil {
		return
	}
	m.attach(r.parent)
	r.loose = false
	p := resolve(r.parent.n)
	if isNull(p) {
		kind, tag := yaml.MappingNode, "!!map"
		if r.key == nil {
			kind, tag = yaml.SequenceNode, "!!seq"
		}
		p.Kind, p.Tag, p.Value, p.Style = kind, tag, "", 0
	}
	switch {
	case isMap(p):
		key := r.key
		if key == nil {
			key = integer(r.index)
		}
		if i := m.find(p, key.Value); i >= 0 {
			p.Content[i] = r.n
			return
		}
		p.Content = append(p.Content, key, r.n)
	case isSeq(p):
		if r.index > len(p.Content)+1_000_000 {
			fail("index [%d] is too large", r.index)
		}
		for len(p.Content) <= r.index {
			m.Hold(160)
			p.Content = append(p.Content, null())
		}
		p.Content[r.index] = r.n
	}
}

// matches reports whether a text matches a pattern, in which * and ? stand for anything.
func (m *Machine) matches(s, pattern string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return s == pattern
	}
	si, pi, star, mark := 0, 0, -1, 0
	for si < len(s) {
		m.Tick(1)
		switch {
		case pi < len(pattern) && pattern[pi] == '*':
			star, mark = pi, si
			pi++
		case pi < len(pattern) && (pattern[pi] == '?' || pattern[pi] == s[si]):
			si++
			pi++
		case star >= 0:
			mark++
			si, pi = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[pi:], "*") == ""
}
