package yaml

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

// MaxSize bounds the text of a document, whose nodes take many times its length.
const MaxSize = 8 << 20

const maxDepth = 1000

// nodeCost is what nodes take for a byte of text, at the most: an item of a sequence has two bytes and a node of 160
// and a pointer.
const nodeCost = 96

// Errors of documents that cannot become values.
var (
	ErrTooLarge = errors.New("document too large")
	ErrTooDeep  = errors.New("document nested too deeply, or an anchor within itself")
)

// Document is a parsed document.
type Document struct{ node *yaml.Node }

// counted calls tick for what is read from it and written to it, a step for every eight bytes: that is how a parser or
// a printer is ended in its midst, when tick panics.
type counted struct {
	bytes.Buffer
	tick, hold func(int)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Buffer.Read(b)
	c.tick(1 + n>>3)
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	c.tick(1 + len(b)>>3)
	c.hold(2 * len(b))
	return c.Buffer.Write(b)
}

// Parse reads all documents of a text; tick counts steps and hold memory.
func Parse(text []byte, tick, hold func(int)) ([]Document, error) {
	if len(text) > MaxSize {
		return nil, ErrTooLarge
	}
	var docs []Document
	hold(nodeCost * len(text))
	d := yaml.NewDecoder(&counted{Buffer: *bytes.NewBuffer(text), tick: tick})
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		hold(256)
		docs = append(docs, Document{&n})
	}
}

// reader makes values; it counts every node, so that anchors cannot multiply without end.
type reader struct{ hold func(int) }

// Value is the document as a value; hold counts its memory.
func (d Document) Value(hold func(int)) (any, error) { return reader{hold}.value(d.node, 0) }

func (r reader) value(n *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, ErrTooDeep
	}
	r.hold(64 + len(n.Value))
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return r.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return jq.NewArray(list), nil
	case yaml.MappingNode:
		o := jq.NewObject()
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := r.value(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			if n.Content[i].Tag == "!!merge" {
				o = r.merged(o, v)
				continue
			}
			o = o.Set(n.Content[i].Value, v)
		}
		return o, nil
	}
	return scalar(n), nil
}

// merged adds what << brings in; a list of mappings counts from its end.
func (r reader) merged(o *jq.Object, v any) *jq.Object {
	if a, ok := v.(*jq.Array); ok {
		for _, x := range a.Values() {
			o = r.merged(o, x)
		}
		return o
	}
	if from, ok := v.(*jq.Object); ok {
		for k, x := range from.All() {
			if _, has := o.Get(k); !has {
				r.hold(64)
				o = o.Set(k, x)
			}
		}
	}
	return o
}

func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return b
		}
	case "!!int", "!!float":
		var f float64
		if n.Decode(&f) == nil {
			return f
		}
	}
	return n.Value
}

// Encode writes documents with the given indentation; two or more are separated by ---. tick counts steps and hold
// memory.
func Encode(docs []Document, indent int, tick, hold func(int)) ([]byte, error) {
	b := counted{tick: tick, hold: hold}
	e := yaml.NewEncoder(&b)
	e.SetIndent(indent)
	for _, d := range docs {
		if err := e.Encode(d.node); err != nil {
			return nil, err
		}
	}
	err := e.Close()
	return b.Bytes(), err
}

// New makes a document of a value.
func New(v any) Document { return Document{node(v)} }

// With returns the document with value v in place of its own. What is equal keeps its comments and its style.
func (d Document) With(v any, hold func(int)) (Document, error) {
	if d.node.Kind != yaml.DocumentNode || len(d.node.Content) == 0 {
		return New(v), nil
	}
	c := *d.node
	n, err := reader{hold}.update(c.Content[0], v, 0)
	c.Content = []*yaml.Node{n}
	return Document{&c}, err
}

func (r reader) update(n *yaml.Node, v any, depth int) (*yaml.Node, error) {
	old, err := r.value(n, depth)
	if err != nil || jq.Equal(old, v) {
		return n, err
	}
	c := *n
	switch v := v.(type) {
	case *jq.Object:
		if n.Kind != yaml.MappingNode {
			break
		}
		c.Content = nil
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			x, ok := v.Get(k.Value)
			if !ok || seen[k.Value] {
				continue
			}
			seen[k.Value] = true
			u, err := r.update(n.Content[i+1], x, depth+1)
			if err != nil {
				return nil, err
			}
			c.Content = append(c.Content, k, u)
		}
		for k, x := range v.All() {
			if !seen[k] {
				c.Content = append(c.Content, node(k), node(x))
			}
		}
		return &c, nil
	case *jq.Array:
		if n.Kind != yaml.SequenceNode {
			break
		}
		c.Content = nil
		for i, x := range v.Values() {
			if i >= len(n.Content) {
				c.Content = append(c.Content, node(x))
				continue
			}
			u, err := r.update(n.Content[i], x, depth+1)
			if err != nil {
				return nil, err
			}
			c.Content = append(c.Content, u)
		}
		return &c, nil
	}
	u := node(v)
	u.HeadComment, u.LineComment, u.FootComment = n.HeadComment, n.LineComment, n.FootComment
	if _, text := v.(string); text && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		u.Style = n.Style
	}
	return u, nil
}

func node(v any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := v.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v)
	case float64:
		n.Tag, n.Value = "!!float", strconv.FormatFloat(v, 'g', -1, 64)
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			n.Tag, n.Value = "!!int", strconv.FormatInt(int64(v), 10)
		}
	case string:
		n.SetString(v)
	case *jq.Array:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for _, x := range v.Values() {
			n.Content = append(n.Content, node(x))
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
	case *jq.Object:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for k, x := range v.All() {
			n.Content = append(n.Content, node(k), node(x))
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
	}
	return n
}

// Node is the document as nodes.
func (d Document) Node() *yaml.Node { return d.node }

// FromNode is a document of a node, or of the document that it is.
func FromNode(n *yaml.Node) Document { return Document{n} }
