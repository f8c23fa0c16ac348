package yq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// operator evaluates what has two sides.
func (m *Machine) operator(e *expr, c context) context {
	switch e.op {
	case "=", "|=":
		return m.assign(e, c)
	case "set", "set|":
		return m.assignAttribute(e, c)
	case "+=", "-=", "*=", "/=", "%=", "//=":
		m.sides(e, c, func(left, right []*Node) {
			for _, l := range left {
				if len(right) == 0 {
					continue
				}
				if e.op == "//=" {
					if !truth(l.n) {
						m.update(l, m.copied(right[0].n), false)
					}
					continue
				}
				m.update(l, m.calculate(strings.TrimSuffix(e.op, "="), e.text, l, right[0]), false)
			}
		})
		return c
	case "and", "or":
		return m.pairs(e, c, func(l, r *Node) *Node {
			a, b := l != nil && truth(l.n), r != nil && truth(r.n)
			return m.loose(boolean(e.op == "and" && a && b || e.op == "or" && (a || b)), first(l, r))
		}, true)
	case "//":
		var out []*Node
		m.sides(e, c, func(left, right []*Node) {
			before := len(out)
			for _, l := range left {
				if truth(l.n) {
					out = append(out, l)
				}
			}
			if len(out) == before {
				out = append(out, right...)
			}
		})
		return c.with(out...)
	case "==", "!=", "<", "<=", ">", ">=":
		return m.pairs(e, c, func(l, r *Node) *Node { return m.loose(boolean(m.compare(e.op, l, r)), first(l, r)) }, true)
	}
	return m.pairs(e, c, func(l, r *Node) *Node {
		switch {
		case l == nil:
			return r
		case r == nil:
			return l
		}
		out := m.calculate(e.op, e.text, l, r)
		if l.isDocument() && !isScalar(out) && out.HeadComment == "" {
			out.HeadComment = l.document.HeadComment
		}
		return m.calculated(out, l)
	}, false)
}

func first(a, b *Node) *Node {
	if a != nil {
		return a
	}
	return b
}

// sides evaluates both sides on each node, or on all together.
func (m *Machine) sides(e *expr, c context, f func(left, right []*Node)) {
	if c.whole || len(c.nodes) == 0 {
		right := m.eval(e.args[1], c).nodes
		f(m.eval(e.args[0], c).nodes, right)
		return
	}
	for _, r := range c.nodes {
		right := m.on(e.args[1], c, r)
		f(m.on(e.args[0], c, r), right)
	}
}

// pairs combines each result of the left side with each of the right one. A side without results counts as nil; both:
// only if empty.
func (m *Machine) pairs(e *expr, c context, f func(l, r *Node) *Node, empty bool) context {
	var out []*Node
	m.sides(e, c, func(left, right []*Node) {
		if len(left) == 0 && len(right) == 0 && !empty {
			return
		}
		if len(left) == 0 {
			left = []*Node{nil}
		}
		if len(right) == 0 {
			right = []*Node{nil}
		}
		for _, l := range left {
			for _, r := range right {
				m.Tick(1)
				out = append(out, f(l, r))
			}
		}
	})
	return c.with(out...)
}

func (m *Machine) assign(e *expr, c context) context {
	if e.op == "|=" {
		for _, l := range m.eval(e.args[0], c).nodes {
			if list := m.on(e.args[1], c, l); len(list) > 0 {
				m.update(l, m.copied(list[0].n), e.text == "c")
			}
		}
		return c
	}
	m.sides(e, c, func(left, right []*Node) {
		if len(right) == 0 {
			return
		}
		for _, l := range left {
			m.update(l, m.copied(right[0].n), e.text == "c")
		}
	})
	return c
}

// update puts a value in the place of a node, which keeps its style, its comments and a tag of its own.
func (m *Machine) update(r *Node, v *node, clobber bool) {
	n := r.n
	if n.Kind == yaml.AliasNode && v.Kind != yaml.AliasNode {
		*n = node{Kind: v.Kind, LineComment: n.LineComment, HeadComment: n.HeadComment, FootComment: n.FootComment}
	}
	if n.Kind != yaml.ScalarNode && len(n.Content) == 0 || n.Kind != v.Kind || isNull(n) {
		n.Style = v.Style
	}
	if n.Kind == yaml.ScalarNode && tagOf(n) == "!!str" && tagOf(v) != "!!str" && isScalar(v) {
		n.Style = v.Style // quotes would make a text of it
	}
	n.Kind, n.Value, n.Content, n.Alias = v.Kind, v.Value, v.Content, v.Alias
	if clobber || strings.HasPrefix(n.Tag, "!!") || n.Tag == "" {
		n.Tag = v.Tag
	}
	if v.Anchor != "" {
		n.Anchor = v.Anchor
	}
	if n.Style == 0 {
		n.Style = v.Style
	}
	if v.HeadComment != "" {
		n.HeadComment = v.HeadComment
	}
	if v.LineComment != "" {
		n.LineComment = v.LineComment
	}
	if v.FootComment != "" {
		n.FootComment = v.FootComment
	}
	m.attach(r)
}

func (m *Machine) compare(op string, l, r *Node) bool {
	a, b := null(), null()
	if l != nil {
		a = resolve(l.n)
	}
	if r != nil {
		b = resolve(r.n)
	}
	switch op {
	case "==":
		return m.same(a, b)
	case "!=":
		return !m.same(a, b)
	}
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b) && len(op) == 2
	}
	if !isScalar(a) || !isScalar(b) {
		fail("comparison not yet supported for %s", tagOf(a))
	}
	var o int
	x, xok := float(a)
	y, yok := float(b)
	switch {
	case xok && yok && x < y:
		o = -1
	case xok && yok && x > y:
		o = 1
	case xok && yok:
	case tagOf(a) == "!!timestamp" || tagOf(b) == "!!timestamp" || m.layout != "":
		t, err1 := m.time(a.Value)
		u, err2 := m.time(b.Value)
		if err1 == nil && err2 == nil {
			o = t.Compare(u)
			break
		}
		o = strings.Compare(a.Value, b.Value)
	case tagOf(a) == "!!str" && tagOf(b) == "!!str":
		o = strings.Compare(a.Value, b.Value)
	default:
		fail("%s not yet supported for comparison with %s", tagOf(a), tagOf(b))
	}
	switch op {
	case "<":
		return o < 0
	case "<=":
		return o <= 0
	case ">":
		return o > 0
	}
	return o >= 0
}

// same is ==: scalars by their text, in which the right one may be a pattern.
func (m *Machine) same(a, b *node) bool {
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b)
	}
	if isScalar(a) && isScalar(b) {
		if x, ok := float(a); ok {
			if y, ok := float(b); ok {
				return x == y
			}
		}
		return m.matches(a.Value, b.Value)
	}
	return m.equal(a, b)
}

func formatFloat(f float64) *node {
	s := fmt.Sprintf("%v", f)
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return number(s, "!!int")
	}
	return number(s, "!!float")
}

func (m *Machine) calculate(op, flags string, l, r *Node) *node {
	a, b := resolve(l.n), resolve(r.n)
	switch op {
	case "*":
		return m.multiply(a, b, flags)
	case "+":
		return m.add(l, r, a, b)
	case "-":
		switch {
		case isNull(a):
			return m.copied(b)
		case isNull(b):
			return m.copied(a)
		case isSeq(a):
			if !isSeq(b) {
				fail("%s (%s) cannot be subtracted from %s", tagOf(b), r.where(), tagOf(a))
			}
			s := m.copied(a)
			s.Content = nil
			for _, x := range a.Content {
				keep := true
				for _, y := range b.Content {
					keep = keep && !m.equal(x, y)
				}
				if keep {
					s.Content = append(s.Content, m.copied(x))
				}
			}
			return s
		}
		if t, err := m.dateOf(a); err == nil && isScalar(b) {
			if d, err := time.ParseDuration(b.Value); err == nil {
				return m.date(t.Add(-d), a)
			}
		}
	case "/":
		if tagOf(a) == "!!str" && tagOf(b) == "!!str" {
			return m.split(a.Value, b.Value)
		}
	}
	x, xok := float(a)
	y, yok := float(b)
	if !xok || !yok {
		verb := map[string]string{"-": "subtracted from", "/": "divided by", "%": "modulo with"}[op]
		if op == "-" {
			if tagOf(a) == "!!str" {
				fail("strings cannot be subtracted")
			}
			fail("%s cannot be %s %s", tagOf(b), verb, tagOf(a))
		}
		fail("%s (%s) cannot be %s %s (%s)", tagOf(a), l.where(), verb, tagOf(b), r.where())
	}
	i, iok := whole(a)
	j, jok := whole(b)
	switch {
	case op == "-" && iok && jok:
		return formatInt(i-j, a, b)
	case op == "-":
		return formatFloat(x - y)
	case op == "/":
		return formatFloat(x / y)
	case iok && jok:
		if j == 0 {
			fail("cannot modulo by 0")
		}
		return formatInt(i%j, a, b)
	}
	if y == 0 {
		return number(".nan", "!!float")
	}
	return formatFloat(x - y*float64(int64(x/y)))
}

// formatInt writes a number as the first operand is written.
func formatInt(i int64, a, b *node) *node {
	if strings.HasPrefix(a.Value, "0x") || strings.HasPrefix(b.Value, "0x") {
		return number("0x"+strings.ToUpper(strconv.FormatInt(i, 16)), "!!int")
	}
	return number(strconv.FormatInt(i, 10), "!!int")
}

func (m *Machine) add(l, r *Node, a, b *node) *node {
	switch {
	case isNull(a):
		return m.copied(b)
	case isNull(b):
		return m.copied(a)
	case isMap(a):
		if !isMap(b) {
			fail("%s (%s) cannot be added to a %s (%s)", tagOf(b), r.where(), tagOf(a), l.where())
		}
		s := m.copied(a)
		for i := 0; i+1 < len(b.Content); i += 2 {
			m.Tick(1 + len(s.Content)>>4)
			if j := m.find(s, b.Content[i].Value); j >= 0 {
				s.Content[j] = m.copied(b.Content[i+1])
				continue
			}
			s.Content = append(s.Content, m.copied(b.Content[i]), m.copied(b.Content[i+1]))
		}
		return s
	case isSeq(a):
		s := m.copied(a)
		if isSeq(b) {
			if len(s.Content) == 0 {
				s.Style = b.Style
			}
			s.Content = append(s.Content, m.copied(b).Content...)
		} else {
			s.Content = append(s.Content, m.copied(b))
		}
		return s
	case !isScalar(b):
		fail("%s (%s) cannot be added to a %s (%s)", tagOf(b), r.where(), tagOf(a), l.where())
	}
	if t, err := m.dateOf(a); err == nil {
		d, err := time.ParseDuration(b.Value)
		if err != nil {
			fail("unable to parse duration [%s]: %v", b.Value, err)
		}
		return m.date(t.Add(d), a)
	}
	i, iok := whole(a)
	j, jok := whole(b)
	x, xok := float(a)
	y, yok := float(b)
	switch {
	case iok && jok:
		return formatInt(i+j, a, b)
	case xok && yok:
		return formatFloat(x + y)
	}
	m.Hold(len(a.Value) + len(b.Value))
	n := text(a.Value + b.Value)
	n.Style = a.Style
	if t := tagOf(a); !strings.HasPrefix(t, "!!") {
		n.Tag = t
	}
	return n
}

func (m *Machine) multiply(a, b *node, flags string) *node {
	switch {
	case isMap(a) && isMap(b), isSeq(a) && isSeq(b):
		out := m.copied(a)
		m.merge(out, b, flags, true, 0)
		return out
	case isNull(a) && !isScalar(b):
		return m.copied(b)
	case isNull(b) && !isScalar(a):
		return m.copied(a)
	}
	if i, ok := whole(b); ok && tagOf(a) == "!!str" {
		return m.repeat(a.Value, i)
	}
	if i, ok := whole(a); ok && tagOf(b) == "!!str" {
		return m.repeat(b.Value, i)
	}
	i, iok := whole(a)
	j, jok := whole(b)
	x, xok := float(a)
	y, yok := float(b)
	switch {
	case iok && jok:
		return formatInt(i*j, a, b)
	case xok && yok:
		return formatFloat(x * y)
	}
	fail("cannot multiply %s with %s", tagOf(a), tagOf(b))
	return nil
}

func (m *Machine) repeat(s string, n int64) *node {
	if n < 0 {
		fail("cannot repeat string by a negative number (%d)", n)
	}
	if n > 10_000_000 {
		fail("cannot repeat string by more than 10 million (%d)", n)
	}
	m.Hold(len(s) * int(n))
	return text(strings.Repeat(s, int(n)))
}

// merge merges src into dst by the flags: + appends sequences, d merges them item by item, n takes only what is new, ?
// only what is there.
func (m *Machine) merge(dst, src *node, flags string, top bool, depth int) {
	if depth > maxDepth {
		fail("nested too deeply")
	}
	m.Tick(1)
	s := src
	if src.Kind == yaml.AliasNode && dst.Kind != yaml.AliasNode && !isScalar(dst) {
		s = resolve(src)
	}
	if src.HeadComment != "" {
		dst.HeadComment = src.HeadComment
	}
	if src.FootComment != "" {
		dst.FootComment = src.FootComment
	}
	switch {
	case isMap(dst) && isMap(s):
		if len(dst.Content) == 0 {
			dst.Style = s.Style
		}
		for i := 0; i+1 < len(s.Content); i += 2 {
			k, v := s.Content[i], s.Content[i+1]
			m.Tick(1 + len(dst.Content)>>4)
			if j := m.find(dst, k.Value); j >= 0 {
				if k.HeadComment != "" {
					dst.Content[j-1].HeadComment = k.HeadComment
				}
				m.merge(dst.Content[j], v, flags, false, depth+1)
			} else if !strings.Contains(flags, "?") {
				dst.Content = append(dst.Content, m.copied(k), m.copied(v))
			}
		}
	case isSeq(dst) && isSeq(s):
		switch {
		case strings.Contains(flags, "+"):
			dst.Content = append(dst.Content, m.copied(s).Content...)
		case strings.Contains(flags, "d"):
			for i, x := range s.Content {
				if i < len(dst.Content) {
					m.merge(dst.Content[i], x, flags, false, depth+1)
				} else if !strings.Contains(flags, "?") {
					dst.Content = append(dst.Content, m.copied(x))
				}
			}
		case strings.Contains(flags, "n") && !top:
		default:
			dst.Content = m.copied(s).Content
			dst.Style = s.Style
		}
	case strings.Contains(flags, "n") && !isNull(dst):
	default:
		m.update(&Node{n: dst}, m.copied(src), strings.Contains(flags, "c"))
	}
}

// styles by their names.
var styles = []struct {
	name  string
	style yaml.Style
}{{"tagged", yaml.TaggedStyle}, {"double", yaml.DoubleQuotedStyle}, {"single", yaml.SingleQuotedStyle},
	{"literal", yaml.LiteralStyle}, {"folded", yaml.FoldedStyle}, {"flow", yaml.FlowStyle}}

func styleName(n *node) string {
	for _, s := range styles {
		if n.Style&s.style != 0 {
			return s.name
		}
	}
	return ""
}

// assignAttribute is NODE style= VALUE and its like.
func (m *Machine) assignAttribute(e *expr, c context) context {
	set := func(l *Node, v *node) {
		s := ""
		if v != nil && !isNull(v) {
			s = v.Value
		}
		m.setAttribute(l, e.text, s)
	}
	if e.op == "set|" {
		for _, l := range m.eval(e.args[0], c).nodes {
			set(l, m.one(e.args[1], c, l))
		}
		return c
	}
	m.sides(e, c, func(left, right []*Node) {
		for _, l := range left {
			var v *node
			if len(right) > 0 {
				v = resolve(right[0].n)
			}
			set(l, v)
		}
	})
	return c
}

func (m *Machine) setAttribute(r *Node, name, s string) {
	n := r.n
	switch name {
	case "style":
		var style yaml.Style
		found := s == ""
		for _, x := range styles {
			if x.name == s {
				style, found = x.style, true
			}
		}
		if !found {
			fail("unknown style %s", s)
		}
		if n.Kind == yaml.ScalarNode {
			if style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 &&
				strings.HasPrefix(tagOf(n), "!!") {
				n.Tag = "!!str"
			}
		}
		n.Style = style
	case "tag":
		n.Tag = s
		if !strings.HasPrefix(s, "!!") && s != "" {
			n.Style |= yaml.TaggedStyle
		} else {
			n.Style &^= yaml.TaggedStyle
		}
	case "anchor":
		n.Anchor = s
	case "alias":
		if s == "" {
			return
		}
		root := r
		for root.parent != nil {
			root = root.parent
		}
		*n = node{Kind: yaml.AliasNode, Value: s, Alias: anchored(root.n, s, 0), HeadComment: n.HeadComment,
			LineComment: n.LineComment, FootComment: n.FootComment}
	case "lineComment":
		*r.line() = comment(s)
	case "headComment":
		m.setHead(r, comment(s))
	case "footComment":
		m.setFoot(r, comment(s))
	case "comments":
		*r.line() = comment(s)
		n.LineComment = comment(s)
		m.setHead(r, comment(s))
		m.setFoot(r, comment(s))
	}
}

func anchored(n *node, name string, depth int) *node {
	if n.Anchor == name && n.Kind != yaml.AliasNode {
		return n
	}
	if depth > maxDepth {
		return nil
	}
	for _, x := range n.Content {
		if f := anchored(x, name, depth+1); f != nil {
			return f
		}
	}
	return nil
}

// comment puts # before every line.
func comment(s string) string {
	if s == "" {
		return ""
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if !strings.HasPrefix(l, "#") && l != "" {
			lines[i] = "# " + l
		}
	}
	return strings.Join(lines, "\n")
}

// uncomment takes it off again.
func uncomment(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(l, "#"), " ")
	}
	return strings.Join(lines, "\n")
}

// line is where the comment behind a node is kept.
func (r *Node) line() *string {
	if r.key != nil && !r.isKey && !isScalar(r.n) && r.n.Kind != yaml.AliasNode && r.n.Style&yaml.FlowStyle == 0 {
		return &r.key.LineComment
	}
	return &r.n.LineComment
}

func (r *Node) isDocument() bool {
	return r.parent == nil && r.document != nil && r.document.Kind == yaml.DocumentNode && r.document.Content[0] == r.n
}

func (r *Node) head() string {
	switch {
	case r.isDocument():
		parts := []string{r.document.HeadComment, r.n.HeadComment}
		if isMap(r.n) && len(r.n.Content) > 0 {
			parts = append(parts, r.n.Content[0].HeadComment)
		}
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
	case r.key != nil && !r.isKey && r.key.HeadComment != "":
		return r.key.HeadComment
	}
	return r.n.HeadComment
}

func (m *Machine) setHead(r *Node, s string) {
	r.n.HeadComment = ""
	switch {
	case r.isDocument():
		r.document.HeadComment = ""
		if isMap(r.n) && len(r.n.Content) > 0 {
			r.n.Content[0].HeadComment = s
			return
		}
		r.document.HeadComment = s
	case r.key != nil && !r.isKey:
		r.key.HeadComment = s
	default:
		r.n.HeadComment = s
	}
}

func (r *Node) foot() string {
	switch {
	case r.isDocument():
		return r.document.FootComment + r.n.FootComment
	case r.key != nil && !r.isKey && r.key.FootComment != "":
		return r.key.FootComment
	}
	return r.n.FootComment
}

func (m *Machine) setFoot(r *Node, s string) {
	r.n.FootComment = ""
	switch {
	case r.isDocument():
		r.document.FootComment = s
	case r.key != nil && !r.isKey:
		r.key.FootComment = s
	default:
		r.n.FootComment = s
	}
}

// time reads a date by the layout in force.
func (m *Machine) time(s string) (time.Time, error) {
	if m.layout != "" {
		return time.Parse(m.layout, s)
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		if d, e := time.Parse("2006-01-02", s); e == nil {
			return d, nil
		}
	}
	return t, err
}

// dateOf reads a node that is a date, or must be one.
func (m *Machine) dateOf(n *node) (time.Time, error) {
	if !isScalar(n) || tagOf(n) != "!!timestamp" && m.layout == "" {
		return time.Time{}, errNoDate
	}
	return m.time(n.Value)
}

// date writes a date as like is written.
func (m *Machine) date(t time.Time, like *node) *node {
	layout := m.layout
	if layout == "" {
		if layout = time.RFC3339; len(like.Value) == len("2006-01-02") {
			layout = "2006-01-02"
			if t.Truncate(24*time.Hour) != t {
				layout = time.RFC3339
			}
		}
	}
	n := number(t.Format(layout), like.Tag)
	n.Style = like.Style
	return n
}
