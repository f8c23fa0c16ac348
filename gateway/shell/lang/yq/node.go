package yq

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type node = yaml.Node

// Node is a place in a document: the node there and how it was reached.
type Node struct {
	n        *node
	parent   *Node
	key      *node // in a mapping
	index    int   // in a sequence
	isKey    bool
	loose    bool // not in the document yet
	document *node
	from     *Source
	split    int // what split_doc made of the document's number
}

// Source says where a document comes from.
type Source struct {
	File, Document int
	Name           string
	Lead           []byte // what stands before it, up to and with ---
}

// NewNode is the root of a document.
func NewNode(document *yaml.Node, from Source) *Node {
	root := document
	if document.Kind == yaml.DocumentNode {
		if len(document.Content) == 0 {
			document.Content = []*node{number("null", "!!null")}
		}
		root = document.Content[0]
	}
	return &Node{n: root, document: document, from: &from, split: from.Document}
}

// YAML is what is to be printed: the whole document for its root.
func (r *Node) YAML() *yaml.Node {
	if r.parent == nil && r.document != nil && r.document.Kind == yaml.DocumentNode {
		return r.document
	}
	return r.n
}

// Document is the number of the document.
func (r *Node) Document() int { return r.split }

// File is the number of the file.
func (r *Node) File() int { return r.from.File }

// Scalar is the text of a scalar; ok says that it is one.
func (r *Node) Scalar() (s string, ok bool) {
	n := resolve(r.n)
	return n.Value, n.Kind == yaml.ScalarNode
}

// True says that the node is neither null nor false.
func (r *Node) True() bool { return truth(r.n) }

func truth(n *node) bool {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode {
		return n.Kind != 0
	}
	switch n.ShortTag() {
	case "!!null":
		return false
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	}
	return true
}

// resolve follows an alias.
func resolve(n *node) *node {
	for i := 0; n.Kind == yaml.AliasNode && n.Alias != nil && i < 100; i++ {
		n = n.Alias
	}
	return n
}

func text(s string) *node {
	n := &node{}
	n.SetString(s)
	n.Tag = "!!str"
	return n
}

// number is a scalar that is no text.
func number(s, tag string) *node { return &node{Kind: yaml.ScalarNode, Tag: tag, Value: s} }

func boolean(b bool) *node { return number(strconv.FormatBool(b), "!!bool") }

func integer(i int) *node { return number(strconv.Itoa(i), "!!int") }

func null() *node { return number("null", "!!null") }

func sequence(list ...*node) *node {
	return &node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: list}
}

func mapping(pairs ...*node) *node {
	return &node{Kind: yaml.MappingNode, Tag: "!!map", Content: pairs}
}

func isNull(n *node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func isMap(n *node) bool    { return n.Kind == yaml.MappingNode }
func isSeq(n *node) bool    { return n.Kind == yaml.SequenceNode }
func isScalar(n *node) bool { return n.Kind == yaml.ScalarNode || n.Kind == 0 }

// tagOf is the tag that is meant where none is written.
func tagOf(n *node) string {
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		if n.Tag != "" && n.Tag != "!" {
			return n.Tag
		}
		if isMap(n) {
			return "!!map"
		}
		return "!!seq"
	case yaml.AliasNode:
		return ""
	case 0:
		return "!!null"
	}
	if n.Tag != "" && !strings.HasPrefix(n.Tag, "!!") {
		return n.Tag
	}
	return n.ShortTag()
}

// maxBelow bounds how deep nodes are walked: the YAML parser stops at 10 000, and anchors may be within themselves.
const maxBelow = 10_000

// descend counts a step down into nodes; the caller takes it back.
func (m *Machine) descend() func() {
	m.Tick(1)
	if m.below++; m.below > maxBelow {
		fail("nested too deeply")
	}
	return func() { m.below-- }
}

// copied is a copy of a node with all that is below. Aliases still point at what they did.
func (m *Machine) copied(n *node) *node {
	defer m.descend()()
	m.Hold(160 + len(n.Value))
	c := *n
	if n.Content != nil {
		c.Content = make([]*node, len(n.Content))
		for i, x := range n.Content {
			c.Content[i] = m.copied(x)
		}
	}
	return &c
}

// find is the position of a value in the content of a mapping, -1 when there is none.
func (m *Machine) find(n *node, key string) int {
	m.Tick(1 + len(n.Content)>>4)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// plain takes comments, anchor and place off a node that is computed from another.
func plain(n *node) *node {
	n.HeadComment, n.LineComment, n.FootComment, n.Anchor = "", "", "", ""
	return n
}

// equal compares by content.
func (m *Machine) equal(a, b *node) bool {
	defer m.descend()()
	m.Tick(min(len(a.Value), len(b.Value)) >> 6)
	a, b = resolve(a), resolve(b)
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b)
	}
	if a.Kind != b.Kind {
		return false
	}
	switch {
	case isScalar(a):
		ta, tb := tagOf(a), tagOf(b)
		if ta != tb && !(isNumber(a) && isNumber(b)) {
			return false
		}
		if a.Value == b.Value {
			return true
		}
		if x, ok := float(a); ok {
			y, ok := float(b)
			return ok && x == y
		}
		return false
	case len(a.Content) != len(b.Content):
		return false
	case isMap(a):
		for i := 0; i+1 < len(a.Content); i += 2 {
			m.Tick(len(b.Content) >> 4)
			j := m.find(b, a.Content[i].Value)
			if j < 0 || !m.equal(a.Content[i+1], b.Content[j]) {
				return false
			}
		}
		return true
	}
	for i := range a.Content {
		if !m.equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

func isNumber(n *node) bool {
	t := tagOf(n)
	return n.Kind == yaml.ScalarNode && (t == "!!int" || t == "!!float")
}

func float(n *node) (float64, bool) {
	if !isNumber(n) {
		return 0, false
	}
	if i, ok := whole(n); ok {
		return float64(i), true
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	if err != nil {
		return 0, n.Decode(&f) == nil
	}
	return f, true
}

func whole(n *node) (int64, bool) {
	if tagOf(n) != "!!int" {
		return 0, false
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimPrefix(n.Value, "+"), "_", ""), 0, 64)
	return i, err == nil
}

// path is how a node is reached: the keys and indexes.
func (r *Node) path() []*node {
	var out []*node
	for ; r != nil && r.parent != nil; r = r.parent {
		switch {
		case r.key != nil:
			out = append(out, &node{Kind: yaml.ScalarNode, Tag: r.key.Tag, Value: r.key.Value})
		default:
			out = append(out, integer(r.index))
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// where names the place of a node in messages.
func (r *Node) where() string {
	var parts []string
	for _, k := range r.path() {
		parts = append(parts, k.Value)
	}
	return strings.Join(parts, ".")
}
