package xml

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Writer writes nodes.
type Writer struct {
	Format     bool   // one element a line
	Indent     string // of a level, for Format
	ASCII      bool   // other characters become references
	Latin1     bool   // characters above 255 become references, the others are bytes
	Decimal    bool   // references are decimal
	ASCIIAttrs bool   // only in attributes
	Tick       func(int)
}

var (
	textEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;")
	attrEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\t", "&#9;",
		"\r", "&#13;")
)

func (w *Writer) escape(b []byte, r *strings.Replacer, s string) []byte {
	return w.chars(b, r.Replace(s))
}

// chars appends text in the encoding that is written.
func (w *Writer) chars(b []byte, s string) []byte {
	if !w.ASCII && !w.Latin1 {
		return append(b, s...)
	}
	for _, c := range s {
		switch {
		case c < utf8.RuneSelf:
			b = append(b, byte(c))
		case w.Latin1 && c < 256:
			b = append(b, byte(c))
		case w.Latin1 || w.Decimal:
			b = fmt.Appendf(b, "&#%d;", c)
		default:
			b = fmt.Appendf(b, "&#x%X;", c)
		}
	}
	return b
}

// Document appends a document with its declaration.
func (w *Writer) Document(b []byte, d *Node, encoding string) []byte {
	b = append(b, `<?xml version="`+d.Version+`"`...)
	if encoding != "" {
		b = append(b, ` encoding="`+encoding+`"`...)
	}
	if d.Standalone != "" {
		b = append(b, ` standalone="`+d.Standalone+`"`...)
	}
	b = append(b, "?>\n"...)
	for _, c := range d.Children {
		b = append(w.Node(b, c), '\n')
	}
	return b
}

// Node appends a node.
func (w *Writer) Node(b []byte, n *Node) []byte { return w.node(b, n, 0, w.Format) }

func (w *Writer) node(b []byte, n *Node, depth int, format bool) []byte {
	w.Tick(1)
	switch n.Kind {
	case Document:
		return w.Document(b, n, n.Encoding)
	case Characters:
		return w.escape(b, textEscapes, n.Value)
	case CData:
		return append(w.chars(append(b, "<![CDATA["...), n.Value), "]]>"...)
	case Comment:
		return append(w.chars(append(b, "<!--"...), n.Value), "-->"...)
	case Instruction:
		b = append(append(b, "<?"...), n.Name...)
		if n.Value != "" {
			b = w.chars(append(b, ' '), n.Value)
		}
		return append(b, "?>"...)
	case Reference:
		return append(append(append(b, '&'), n.Name...), ';')
	case Doctype:
		return w.chars(b, n.Value)
	case Attribute, Namespace:
		return w.attribute(b, n)
	}
	b = append(append(b, '<'), n.Name...)
	for _, a := range n.Attrs {
		b = w.attribute(b, a)
	}
	if len(n.Children) == 0 {
		return append(b, "/>"...)
	}
	b = append(b, '>')
	if format && slices.ContainsFunc(n.Children, func(c *Node) bool {
		return c.Kind == Characters || c.Kind == CData || c.Kind == Reference
	}) {
		format = false
	}
	newline := func(depth int) {
		if !format {
			return
		}
		b = append(b, '\n')
		for range depth {
			b = append(b, w.Indent...)
		}
	}
	for _, c := range n.Children {
		newline(depth + 1)
		b = w.node(b, c, depth+1, format)
	}
	newline(depth)
	return append(append(append(b, "</"...), n.Name...), '>')
}

func (w *Writer) attribute(b []byte, a *Node) []byte {
	b = append(append(append(b, ' '), a.Name...), `="`...)
	if w.ASCIIAttrs {
		ascii := *w
		ascii.ASCII = true
		return append(ascii.escape(b, attrEscapes, a.Value), '"')
	}
	return append(w.escape(b, attrEscapes, a.Value), '"')
}

var (
	canonText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")
	canonAttr = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\n", "&#xA;", "\t", "&#x9;", "\r", "&#xD;")
)

// Canonical appends a document as Canonical XML with comments has it.
func (w *Writer) Canonical(b []byte, d *Node) []byte {
	after := false
	for _, c := range d.Children {
		switch c.Kind {
		case Element:
			b = w.canonical(b, c)
			after = true
		case Comment, Instruction:
			if after {
				b = append(b, '\n')
			}
			b = w.node(b, c, 0, false)
			if !after {
				b = append(b, '\n')
			}
		}
	}
	return b
}

func (w *Writer) canonical(b []byte, n *Node) []byte {
	w.Tick(1)
	switch n.Kind {
	case Characters, CData, Reference:
		return append(b, canonText.Replace(n.Value)...)
	case Comment, Instruction:
		return w.node(b, n, 0, false)
	}
	b = append(append(b, '<'), n.Name...)
	attrs := slices.Clone(n.Attrs)
	attrs = slices.DeleteFunc(attrs, func(a *Node) bool {
		prefix, ok := a.declares()
		if !ok || n.Parent == nil {
			return false
		}
		above, defined := n.Parent.Lookup(prefix)
		return defined && above == a.Value // it is said already
	})
	slices.SortStableFunc(attrs, func(x, y *Node) int {
		px, nx := x.declares()
		py, ny := y.declares()
		switch {
		case nx && ny:
			return strings.Compare(px, py)
		case nx:
			return -1
		case ny:
			return 1
		}
		if c := strings.Compare(x.Space, y.Space); c != 0 {
			return c
		}
		return strings.Compare(x.Local(), y.Local())
	})
	for _, a := range attrs {
		b = append(append(append(b, ' '), a.Name...), `="`...)
		b = append(append(b, canonAttr.Replace(a.Value)...), '"')
	}
	b = append(b, '>')
	for _, c := range n.Children {
		b = w.canonical(b, c)
	}
	return append(append(append(b, "</"...), n.Name...), '>')
}
