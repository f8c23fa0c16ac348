package yq

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Pretty takes the styles off, so that everything is written in block form and without quotes where none are needed.
func Pretty(n *yaml.Node) {
	if n.Kind != yaml.AliasNode {
		n.Style &= yaml.TaggedStyle
	}
	for _, x := range n.Content {
		Pretty(x)
	}
}

// Text is a result in a format that only can be written: base64, uri, shell or lua, or as properties.
func (m *Machine) Text(format string, r *Node) (s string, err error) {
	defer caught(&err)
	b := &builder{m: m}
	switch format {
	case "props":
		m.properties(b, "", r, 0)
	case "shell":
		m.shell(b, "", resolve(r.n), 0)
	case "lua":
		b.WriteString("return ")
		m.lua(b, resolve(r.n), 0)
		b.WriteString(";\n")
	default:
		return m.formatted(format, r, -1).Value, nil
	}
	return b.String(), nil
}

// builder is text that is counted as it grows.
type builder struct {
	strings.Builder
	m *Machine
}

// WriteString appends a text.
func (b *builder) WriteString(s string) {
	b.m.Tick(1 + len(s)>>6)
	b.m.Hold(2 * len(s))
	b.Builder.WriteString(s)
}

// shell writes an assignment for every scalar.
func (m *Machine) shell(b *builder, name string, n *node, depth int) {
	if depth > maxDepth {
		fail("nested too deeply")
	}
	m.Tick(1)
	n = resolve(n)
	join := func(key string) string {
		key = strings.Map(func(r rune) rune {
			if r < 128 && (isLetter(byte(r)) || isDigit(byte(r))) {
				return r
			}
			return '_'
		}, key)
		if name == "" {
			if key != "" && isDigit(key[0]) {
				return "_" + key
			}
			return key
		}
		return name + "_" + key
	}
	switch {
	case isMap(n):
		for i := 0; i+1 < len(n.Content); i += 2 {
			m.shell(b, join(n.Content[i].Value), n.Content[i+1], depth+1)
		}
	case isSeq(n):
		for i, x := range n.Content {
			m.shell(b, join(strconv.Itoa(i)), x, depth+1)
		}
	default:
		if name == "" {
			name = "value"
		}
		b.WriteString(name + "=" + shellValue(n.Value) + "\n")
	}
}

func shellValue(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || !isLetter(c) && !isDigit(c) {
			return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
		}
	}
	return s
}

func (m *Machine) lua(b *builder, n *node, depth int) {
	if depth > maxDepth {
		fail("nested too deeply")
	}
	m.Tick(1)
	n = resolve(n)
	tabs := strings.Repeat("\t", depth+1)
	switch {
	case isMap(n):
		if len(n.Content) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteString("{\n")
		for i := 0; i+1 < len(n.Content); i += 2 {
			b.WriteString(tabs + "[")
			m.lua(b, n.Content[i], depth+1)
			b.WriteString("] = ")
			m.lua(b, n.Content[i+1], depth+1)
			b.WriteString(";\n")
		}
		b.WriteString(tabs[1:] + "}")
	case isSeq(n):
		if len(n.Content) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteString("{\n")
		for _, x := range n.Content {
			b.WriteString(tabs)
			m.lua(b, x, depth+1)
			b.WriteString(",\n")
		}
		b.WriteString(tabs[1:] + "}")
	case isNull(n):
		b.WriteString("nil")
	case tagOf(n) == "!!bool":
		b.WriteString(strings.ToLower(n.Value))
	case isNumber(n):
		b.WriteString(n.Value)
	default:
		b.WriteString(strconv.Quote(n.Value))
	}
}

// Texts is a copy of a node in which every scalar but null is a text, as it is written.
func (m *Machine) Texts(n *yaml.Node) (c *yaml.Node, err error) {
	defer caught(&err)
	c = m.copied(n)
	var walk func(n *node, depth int)
	walk = func(n *node, depth int) {
		if n.Kind == yaml.ScalarNode && !isNull(n) {
			n.Tag = "!!str"
		}
		for i, x := range n.Content {
			if depth < maxDepth && (!isMap(n) || i%2 == 1) {
				walk(x, depth+1)
			}
		}
	}
	walk(c, 0)
	return c, nil
}

// IsDocument reports whether a node is the root of the document that it was read as.
func (r *Node) IsDocument() bool { return r.isDocument() }

// Source is where the node's document comes from.
func (r *Node) Source() Source { return *r.from }

// properties writes KEY = VALUE for every scalar, after its comments.
func (m *Machine) properties(b *builder, path string, r *Node, depth int) {
	if depth > maxDepth {
		fail("nested too deeply")
	}
	m.Tick(1 + len(path)>>6)
	n := resolve(r.n)
	if depth == 0 && r.isDocument() {
		if c := r.document.HeadComment; c != "" {
			b.WriteString(c + "\n\n")
		}
	}
	switch {
	case isMap(n) || isSeq(n):
		m.children(r, func(x *Node) {
			key := strconv.Itoa(x.index)
			if x.key != nil {
				key = strings.NewReplacer(" ", "\\ ", ":", "\\:", "=", "\\=").Replace(x.key.Value)
			}
			if path != "" {
				key = path + "." + key
			}
			if x.key != nil && x.key.HeadComment != "" && !isScalar(resolve(x.n)) {
				b.WriteString(x.key.HeadComment + "\n")
			}
			m.properties(b, key, x, depth+1)
		})
	case isNull(n):
		if path != "" {
			b.WriteString(path + " = \n")
		}
	default:
		var c []string
		for _, s := range []string{r.head(), *r.line()} {
			if s != "" {
				c = append(c, uncomment(s))
			}
		}
		if len(c) > 0 {
			b.WriteString("# " + strings.ReplaceAll(strings.Join(c, " "), "\n", "\n# ") + "\n")
		}
		b.WriteString(path + " = " + strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\r", "\\r", "\t",
			"\\t").Replace(n.Value) + "\n")
	}
}
