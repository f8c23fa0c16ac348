package xpath

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/xml"
)

// Value is what an expression comes to: float64, string, bool or []*xml.Node.
type Value any

type expr interface {
	eval(c *scope) Value
}

// Env is what an expression may refer to, and what counts its work. Both functions may panic to end it.
type Env struct {
	Spaces    map[string]string // prefixes
	Variables map[string]Value
	Tick      func(int)
	Hold      func(int)
}

// scope is the context of an evaluation.
type scope struct {
	*Env
	node           *xml.Node
	position, size int
}

// failure carries an error out of an evaluation.
type failure struct{ err error }

// Eval evaluates the expression with a node as its context.
func (x *Expr) Eval(node *xml.Node, env *Env) (v Value, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			panic(r)
		}
	}()
	return x.x.eval(&scope{env, node, 1, 1}), nil
}

func (l literal) eval(*scope) Value { return l.v }

func (v variable) eval(c *scope) Value {
	if x, ok := c.Variables[v.name]; ok {
		return x
	}
	panic(failure{ErrVariable})
}

func (n negation) eval(c *scope) Value { return -c.number(n.x.eval(c)) }

func (b binary) eval(c *scope) Value {
	c.Tick(1)
	switch b.op {
	case "or":
		return Bool(b.l.eval(c)) || Bool(b.r.eval(c))
	case "and":
		return Bool(b.l.eval(c)) && Bool(b.r.eval(c))
	}
	l, r := b.l.eval(c), b.r.eval(c)
	switch b.op {
	case "|":
		x, ok1 := l.([]*xml.Node)
		y, ok2 := r.([]*xml.Node)
		if !ok1 || !ok2 {
			panic(failure{ErrType})
		}
		return c.ordered(append(slices.Clone(x), y...))
	case "=", "!=", "<", "<=", ">", ">=":
		return c.compare(b.op, l, r)
	}
	x, y := c.number(l), c.number(r)
	switch b.op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "div":
		return x / y
	}
	return math.Mod(x, y)
}

func (c *scope) compare(op string, l, r Value) bool {
	x, lset := l.([]*xml.Node)
	y, rset := r.([]*xml.Node)
	equality := op == "=" || op == "!="
	switch {
	case lset && rset:
		texts := make([]string, len(y))
		for i, n := range y {
			texts[i] = n.Text(c.Tick)
		}
		for _, n := range x {
			s := n.Text(c.Tick)
			for _, t := range texts {
				c.Tick(1)
				if equality && (s == t) == (op == "=") || !equality && ordered(op, toNumber(s), toNumber(t)) {
					return true
				}
			}
		}
		return false
	case lset:
		if b, ok := r.(bool); ok {
			return c.compare(op, len(x) > 0, b)
		}
		for _, n := range x {
			var v Value = n.Text(c.Tick)
			if _, ok := r.(float64); ok || !equality {
				v = c.number(v)
			}
			if c.compare(op, v, r) {
				return true
			}
		}
		return false
	case rset:
		if b, ok := l.(bool); ok {
			return c.compare(op, b, len(y) > 0)
		}
		for _, n := range y {
			var v Value = n.Text(c.Tick)
			if _, ok := l.(float64); ok || !equality {
				v = c.number(v)
			}
			if c.compare(op, l, v) {
				return true
			}
		}
		return false
	}
	if !equality {
		return ordered(op, c.number(l), c.number(r))
	}
	_, lb := l.(bool)
	_, rb := r.(bool)
	_, lf := l.(float64)
	_, rf := r.(float64)
	equal := false
	switch {
	case lb || rb:
		equal = Bool(l) == Bool(r)
	case lf || rf:
		equal = c.number(l) == c.number(r)
	default:
		equal = c.text(l) == c.text(r)
	}
	return equal == (op == "=")
}

func ordered(op string, x, y float64) bool {
	switch op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	case ">=":
		return x >= y
	case "=":
		return x == y
	}
	return x != y
}

// Bool is a value as a boolean.
func Bool(v Value) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	case []*xml.Node:
		return len(v) > 0
	}
	return false
}

func toNumber(s string) float64 {
	s = strings.Trim(s, " \t\r\n")
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return math.NaN()
	}
	return f
}

func (c *scope) number(v Value) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	return toNumber(c.text(v))
}

func (c *scope) text(v Value) string {
	if nodes, ok := v.([]*xml.Node); ok {
		if len(nodes) == 0 {
			return ""
		}
		s := nodes[0].Text(c.Tick)
		c.Tick(len(s) >> 6)
		return s
	}
	return Text(v)
}

// Text is a number, boolean or string as a string.
func Text(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		case v == math.Trunc(v) && math.Abs(v) < math.MaxInt32:
			return strconv.Itoa(int(v))
		}
		if a := math.Abs(v); a > 1e9 || a < 1e-5 {
			s := strconv.FormatFloat(v, 'e', 14, 64)
			mantissa, exponent, _ := strings.Cut(s, "e")
			return strings.TrimSuffix(strings.TrimRight(mantissa, "0"), ".") + "e" + exponent
		}
		s := strconv.FormatFloat(v, 'g', 15, 64)
		if strings.Contains(s, "e") {
			s = strconv.FormatFloat(v, 'f', 15, 64)
			s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	return ""
}

// ordered sorts nodes into document order and drops those that are there twice.
func (c *scope) ordered(nodes []*xml.Node) []*xml.Node {
	c.Tick(len(nodes) + 1)
	if !slices.IsSortedFunc(nodes, func(a, b *xml.Node) int { return a.Order - b.Order }) {
		slices.SortStableFunc(nodes, func(a, b *xml.Node) int {
			c.Tick(1)
			return a.Order - b.Order
		})
	}
	return slices.CompactFunc(nodes, func(a, b *xml.Node) bool {
		return a == b || a.Kind == xml.Namespace && b.Kind == xml.Namespace && a.Parent == b.Parent && a.Name == b.Name
	})
}

func (p path) eval(c *scope) Value {
	var nodes []*xml.Node
	switch {
	case p.root:
		top := c.node
		for top.Parent != nil {
			top = top.Parent
		}
		nodes = []*xml.Node{top}
	case p.from != nil:
		v, ok := p.from.eval(c).([]*xml.Node)
		if !ok {
			panic(failure{ErrType})
		}
		nodes = slices.Clone(v)
		for _, x := range p.predicates {
			nodes = c.filter(nodes, x)
		}
	default:
		nodes = []*xml.Node{c.node}
	}
	for i := 0; i < len(p.steps); i++ {
		s := p.steps[i]
		// // before a child without positions is one walk.
		if s.axis == axisDescendantOrSelf && s.test.kind == "node" && s.predicates == nil && i+1 < len(p.steps) &&
			p.steps[i+1].axis == axisChild && p.steps[i+1].predicates == nil {
			i++
			s = p.steps[i]
			s.axis = axisDescendant
		}
		nodes = c.step(nodes, s)
	}
	return nodes
}

func (c *scope) step(nodes []*xml.Node, s step) []*xml.Node {
	space, checked := "", false
	if s.test.prefix != "" {
		if space, checked = c.Spaces[s.test.prefix]; !checked && s.test.prefix != "xml" {
			panic(failure{ErrPrefix})
		}
		if s.test.prefix == "xml" {
			space, _ = nodes0(nodes).Lookup("xml")
		}
	}
	var out []*xml.Node
	for _, n := range nodes {
		var found []*xml.Node
		c.walk(n, s.axis, func(m *xml.Node) {
			c.Tick(1)
			if s.test.accepts(m, s.axis, space) {
				c.Hold(8)
				found = append(found, m)
			}
		})
		for _, x := range s.predicates {
			found = c.filter(found, x)
		}
		if s.axis.reverse() {
			slices.Reverse(found)
		}
		out = append(out, found...)
	}
	return c.ordered(out)
}

func nodes0(nodes []*xml.Node) *xml.Node {
	if len(nodes) == 0 {
		return &xml.Node{}
	}
	return nodes[0]
}

func (c *scope) filter(nodes []*xml.Node, x expr) []*xml.Node {
	var kept []*xml.Node
	for i, n := range nodes {
		c.Tick(1)
		v := x.eval(&scope{c.Env, n, i + 1, len(nodes)})
		if f, ok := v.(float64); ok {
			v = f == float64(i+1)
		}
		if Bool(v) {
			kept = append(kept, n)
		}
	}
	return kept
}

func (t test) accepts(n *xml.Node, a axis, space string) bool {
	switch t.kind {
	case "node":
		return true
	case "text":
		return n.Kind == xml.Characters || n.Kind == xml.CData
	case "comment":
		return n.Kind == xml.Comment
	case "processing-instruction":
		return n.Kind == xml.Instruction && (t.name == "" || t.name == n.Name)
	}
	principal := xml.Element
	switch a {
	case axisAttribute:
		principal = xml.Attribute
	case axisNamespace:
		principal = xml.Namespace
	}
	if n.Kind != principal {
		return false
	}
	if t.prefix != "" || t.name != "*" && a != axisNamespace {
		if n.Space != space {
			return false
		}
	}
	return t.name == "*" || t.name == n.Local()
}

// walk calls f with the nodes of an axis, the nearest first.
func (c *scope) walk(n *xml.Node, a axis, f func(*xml.Node)) {
	visible := func(m *xml.Node) bool { return m.Kind != xml.Doctype }
	var down func(m *xml.Node)
	down = func(m *xml.Node) {
		for _, k := range m.Children {
			if visible(k) {
				f(k)
				down(k)
			}
		}
	}
	var up func(m *xml.Node) // the subtree, last node first
	up = func(m *xml.Node) {
		for _, k := range slices.Backward(m.Children) {
			if visible(k) {
				up(k)
				f(k)
			}
		}
	}
	siblings := func(m *xml.Node) (all []*xml.Node, at int) {
		if m.Parent == nil || m.Kind == xml.Attribute || m.Kind == xml.Namespace {
			return nil, 0
		}
		at, _ = slices.BinarySearchFunc(m.Parent.Children, m.Order,
			func(x *xml.Node, order int) int { return x.Order - order })
		return m.Parent.Children, at
	}
	switch a {
	case axisChild:
		for _, k := range n.Children {
			if visible(k) {
				f(k)
			}
		}
	case axisDescendant:
		down(n)
	case axisDescendantOrSelf:
		f(n)
		down(n)
	case axisSelf:
		f(n)
	case axisParent:
		if n.Parent != nil {
			f(n.Parent)
		}
	case axisAncestor, axisAncestorOrSelf:
		if a == axisAncestorOrSelf {
			f(n)
		}
		for m := n.Parent; m != nil; m = m.Parent {
			f(m)
		}
	case axisAttribute:
		for _, k := range n.Attrs {
			if !k.Declares() {
				f(k)
			}
		}
	case axisNamespace:
		if n.Kind != xml.Element {
			return
		}
		seen := map[string]bool{}
		for m := n; m != nil; m = m.Parent {
			for _, k := range m.Attrs {
				if name := strings.TrimPrefix(strings.TrimPrefix(k.Name, "xmlns"), ":"); k.Declares() && !seen[name] {
					seen[name] = true
					f(&xml.Node{Kind: xml.Namespace, Name: name, Value: k.Value, Parent: n, Order: n.Order})
				}
			}
		}
		f(&xml.Node{Kind: xml.Namespace, Name: "xml", Value: "http://www.w3.org/XML/1998/namespace", Parent: n,
			Order: n.Order})
	case axisFollowingSibling:
		all, at := siblings(n)
		for _, k := range all[min(at+1, len(all)):] {
			f(k)
		}
	case axisPrecedingSibling:
		all, at := siblings(n)
		for _, k := range slices.Backward(all[:at]) {
			if visible(k) {
				f(k)
			}
		}
	case axisFollowing:
		m := n
		if n.Kind == xml.Attribute || n.Kind == xml.Namespace {
			m = n.Parent
			down(m)
		}
		for ; m != nil; m = m.Parent {
			all, at := siblings(m)
			for _, k := range all[min(at+1, len(all)):] {
				f(k)
				down(k)
			}
		}
	case axisPreceding:
		m := n
		if n.Kind == xml.Attribute || n.Kind == xml.Namespace {
			m = n.Parent
		}
		for ; m != nil; m = m.Parent {
			all, at := siblings(m)
			for _, k := range slices.Backward(all[:at]) {
				if visible(k) {
					up(k)
					f(k)
				}
			}
		}
	}
}

// function is one of the core library: how many arguments it takes, at least and at most.
type function struct {
	low, high int
	run       func(c *scope, args []Value) Value
}

func (f call) eval(c *scope) Value {
	c.Tick(1)
	fn, ok := functions[f.name]
	if !ok {
		panic(failure{fmt.Errorf("%w: %s", ErrFunction, f.name)})
	}
	if len(f.args) < fn.low || len(f.args) > fn.high {
		panic(failure{ErrArguments})
	}
	args := make([]Value, len(f.args))
	for i, a := range f.args {
		args[i] = a.eval(c)
	}
	return fn.run(c, args)
}

// subject is the first node of the argument, or the context.
func (c *scope) subject(args []Value) *xml.Node {
	if len(args) == 0 {
		return c.node
	}
	nodes, ok := args[0].([]*xml.Node)
	if !ok {
		panic(failure{ErrType})
	}
	return nodes0(nodes)
}

// subjectText is the text of the argument, or of the context.
func (c *scope) subjectText(args []Value) string {
	if len(args) == 0 {
		return c.node.Text(c.Tick)
	}
	return c.text(args[0])
}

func (c *scope) set(v Value) []*xml.Node {
	nodes, ok := v.([]*xml.Node)
	if !ok {
		panic(failure{ErrType})
	}
	return nodes
}

func round(f float64) float64 {
	if math.Abs(f) > 1<<52 || math.IsNaN(f) {
		return f
	}
	return math.Floor(f + 0.5)
}

var functions = map[string]function{
	"last":     {0, 0, func(c *scope, _ []Value) Value { return float64(c.size) }},
	"position": {0, 0, func(c *scope, _ []Value) Value { return float64(c.position) }},
	"count":    {1, 1, func(c *scope, a []Value) Value { return float64(len(c.set(a[0]))) }},
	"id": {1, 1, func(c *scope, a []Value) Value {
		top := c.node
		for top.Parent != nil {
			top = top.Parent
		}
		var ids []string
		if nodes, ok := a[0].([]*xml.Node); ok {
			for _, n := range nodes {
				ids = append(ids, strings.Fields(n.Text(c.Tick))...)
			}
		} else {
			ids = strings.Fields(c.text(a[0]))
		}
		var out []*xml.Node
		c.walk(top, axisDescendant, func(n *xml.Node) {
			c.Tick(1)
			for _, k := range n.Attrs {
				if k.Name == "xml:id" && slices.Contains(ids, k.Value) {
					out = append(out, n)
				}
			}
		})
		return out
	}},
	"local-name": {0, 1, func(c *scope, a []Value) Value { return c.subject(a).Local() }},
	"name":       {0, 1, func(c *scope, a []Value) Value { return c.subject(a).Name }},
	"namespace-uri": {0, 1, func(c *scope, a []Value) Value {
		return c.subject(a).Space
	}},
	"string": {0, 1, func(c *scope, a []Value) Value { return c.subjectText(a) }},
	"concat": {2, math.MaxInt, func(c *scope, a []Value) Value {
		var b strings.Builder
		for _, v := range a {
			s := c.text(v)
			c.Hold(len(s))
			b.WriteString(s)
		}
		return b.String()
	}},
	"starts-with": {2, 2, func(c *scope, a []Value) Value { return strings.HasPrefix(c.text(a[0]), c.text(a[1])) }},
	"contains":    {2, 2, func(c *scope, a []Value) Value { return strings.Contains(c.text(a[0]), c.text(a[1])) }},
	"substring-before": {2, 2, func(c *scope, a []Value) Value {
		if before, _, ok := strings.Cut(c.text(a[0]), c.text(a[1])); ok {
			return before
		}
		return ""
	}},
	"substring-after": {2, 2, func(c *scope, a []Value) Value {
		_, after, _ := strings.Cut(c.text(a[0]), c.text(a[1]))
		return after
	}},
	"substring": {2, 3, func(c *scope, a []Value) Value {
		s, from, to := c.text(a[0]), round(c.number(a[1])), math.Inf(1)
		if len(a) > 2 {
			to = from + round(c.number(a[2]))
		}
		var b strings.Builder
		at := 1.0
		for _, r := range s {
			if at >= from && at < to {
				b.WriteRune(r)
			}
			at++
		}
		return b.String()
	}},
	"string-length": {0, 1, func(c *scope, a []Value) Value { return float64(utf8.RuneCountInString(c.subjectText(a))) }},
	"normalize-space": {0, 1, func(c *scope, a []Value) Value {
		return strings.Join(strings.FieldsFunc(c.subjectText(a), func(r rune) bool {
			return strings.ContainsRune(" \t\r\n", r)
		}), " ")
	}},
	"translate": {3, 3, func(c *scope, a []Value) Value {
		from, to := []rune(c.text(a[1])), []rune(c.text(a[2]))
		table := map[rune]rune{}
		for i, r := range from {
			if _, ok := table[r]; !ok {
				table[r] = -1
				if i < len(to) {
					table[r] = to[i]
				}
			}
		}
		return strings.Map(func(r rune) rune {
			if t, ok := table[r]; ok {
				return t
			}
			return r
		}, c.text(a[0]))
	}},
	"boolean": {1, 1, func(_ *scope, a []Value) Value { return Bool(a[0]) }},
	"not":     {1, 1, func(_ *scope, a []Value) Value { return !Bool(a[0]) }},
	"true":    {0, 0, func(*scope, []Value) Value { return true }},
	"false":   {0, 0, func(*scope, []Value) Value { return false }},
	"lang": {1, 1, func(c *scope, a []Value) Value {
		want := strings.ToLower(c.text(a[0]))
		for n := c.node; n != nil; n = n.Parent {
			for _, k := range n.Attrs {
				if k.Name == "xml:lang" {
					have := strings.ToLower(k.Value)
					return have == want || strings.HasPrefix(have, want+"-")
				}
			}
		}
		return false
	}},
	"number": {0, 1, func(c *scope, a []Value) Value {
		if len(a) == 0 {
			return toNumber(c.node.Text(c.Tick))
		}
		return c.number(a[0])
	}},
	"sum": {1, 1, func(c *scope, a []Value) Value {
		total := 0.0
		for _, n := range c.set(a[0]) {
			total += toNumber(n.Text(c.Tick))
		}
		return total
	}},
	"floor":   {1, 1, func(c *scope, a []Value) Value { return math.Floor(c.number(a[0])) }},
	"ceiling": {1, 1, func(c *scope, a []Value) Value { return math.Ceil(c.number(a[0])) }},
	"round":   {1, 1, func(c *scope, a []Value) Value { return round(c.number(a[0])) }},
}
