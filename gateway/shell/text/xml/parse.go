package xml

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Options say how to read.
type Options struct {
	NoBlanks bool // blanks between elements are dropped
	Expand   bool // references of entities are replaced
	NoCData  bool // CDATA becomes text
	Recover  bool // what is not well-formed is read as far as it makes sense
	Tick     func(int)
	Hold     func(int)
}

// Bounds of documents: deeper trees and larger expansions are refused.
const (
	maxDepth  = 256
	maxExpand = 10 << 20
)

// SyntaxError is why a document is not well-formed. A namespace error is only a complaint.
type SyntaxError struct {
	Line    int
	Kind    string // "parser" or "namespace"
	Message string
	Context string // the line, and below it a mark
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d: %s error : %s\n%s", e.Line, e.Kind, e.Message, e.Context)
}

type parser struct {
	Options
	s        string
	i, line  int
	seen     int // what line counts to
	doc      *Node
	problems []*SyntaxError
	fatal    bool
	broken   bool // the start tag of the root
	expanded int
}

// stop ends the reading of a document that makes no sense from there on.
type stop struct{}

// Parse reads a document. problems are complaints in the order they came up; the document is nil when one of them is
// fatal and nothing is to be recovered.
func Parse(text string, o Options) (doc *Node, problems []*SyntaxError) {
	p := &parser{Options: o, s: strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), line: 1,
		doc: &Node{Kind: Document, Version: "1.0", entities: map[string]string{}}}
	p.s = strings.TrimPrefix(p.s, "\xef\xbb\xbf")
	p.Hold(len(p.s))
	func() {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(stop); !ok {
					panic(r)
				}
			}
		}()
		p.document()
	}()
	if p.fatal && (!o.Recover || p.doc.Root() == nil) {
		return nil, p.problems
	}
	p.doc.Number()
	return p.doc, p.problems
}

func (p *parser) at() int {
	p.line += strings.Count(p.s[p.seen:p.i], "\n")
	p.seen = p.i
	return p.line
}

// complain notes a problem at the current place.
func (p *parser) complain(kind, format string, args ...any) {
	if len(p.problems) > 100 {
		panic(stop{})
	}
	line := p.at()
	start := strings.LastIndexByte(p.s[:p.i], '\n') + 1
	end := len(p.s)
	if k := strings.IndexByte(p.s[p.i:], '\n'); k >= 0 {
		end = p.i + k
	}
	if p.i-start > 79 {
		start = p.i - 79
	}
	end = min(end, start+80)
	context := p.s[start:max(end, start)]
	mark := make([]byte, 0, 80)
	for k := start; k < p.i; k++ {
		if p.s[k] == '\t' {
			mark = append(mark, '\t')
		} else {
			mark = append(mark, ' ')
		}
	}
	p.problems = append(p.problems, &SyntaxError{line, kind, fmt.Sprintf(format, args...),
		context + "\n" + string(mark) + "^"})
}

func (p *parser) fail(format string, args ...any) {
	p.fatal = true
	p.complain("parser", format, args...)
	if !p.Recover {
		return
	}
}

func (p *parser) abort(format string, args ...any) {
	p.fail(format, args...)
	panic(stop{})
}

func (p *parser) has(prefix string) bool { return strings.HasPrefix(p.s[p.i:], prefix) }

func (p *parser) blanks() bool {
	from := p.i
	for p.i < len(p.s) && strings.IndexByte(" \t\n", p.s[p.i]) >= 0 {
		p.i++
	}
	return p.i > from
}

func nameRune(r rune, first bool) bool {
	return r == '_' || r == ':' || r|0x20 >= 'a' && r|0x20 <= 'z' ||
		r >= 0xc0 && r != 0xd7 && r != 0xf7 && r != utf8.RuneError ||
		!first && (r == '-' || r == '.' || r >= '0' && r <= '9' || r == 0xb7)
}

func (p *parser) name() string {
	from := p.i
	for p.i < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		if !nameRune(r, p.i == from) {
			break
		}
		p.i += n
	}
	return p.s[from:p.i]
}

func (p *parser) document() {
	if p.s == "" {
		p.abort("Document is empty\n")
	}
	if p.has("<?xml ") || p.has("<?xml\t") || p.has("<?xml\n") {
		p.declaration()
	}
	p.misc(true)
	if !p.has("<") {
		p.abort("Start tag expected, '<' not found")
	}
	p.root()
	p.misc(false)
	if p.i < len(p.s) {
		p.fail("Extra content at the end of the document")
	}
}

// root reads the outermost element. What follows a start tag that makes no sense is looked at as what follows the
// document.
func (p *parser) root() {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok || !p.broken {
				panic(r)
			}
		}
	}()
	p.element(p.doc, 1)
}

func (p *parser) declaration() {
	end := strings.Index(p.s, "?>")
	if end < 0 {
		p.abort("parsing XML declaration: '?>' expected")
	}
	text := p.s[5:end]
	p.i = end + 2
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, rest, ok := strings.Cut(text, "=")
		rest = strings.TrimSpace(rest)
		if !ok || rest == "" || rest[0] != '"' && rest[0] != '\'' {
			break
		}
		value, after, ok := strings.Cut(rest[1:], rest[:1])
		if !ok {
			break
		}
		switch strings.TrimSpace(name) {
		case "version":
			p.doc.Version = value
		case "encoding":
			p.doc.Encoding = value
		case "standalone":
			p.doc.Standalone = value
		}
		text = after
	}
}

// misc reads comments and instructions around the root.
func (p *parser) misc(before bool) {
	for {
		p.blanks()
		switch {
		case p.has("<!--"):
			p.comment(p.doc)
		case p.has("<?"):
			p.instruction(p.doc)
		case before && p.has("<!DOCTYPE"):
			p.doctype()
		default:
			return
		}
	}
}

func (p *parser) add(parent *Node, n *Node) {
	p.Tick(1)
	p.Hold(160)
	n.Parent = parent
	parent.Children = append(parent.Children, n)
}

func (p *parser) comment(parent *Node) {
	p.i += 4
	end := strings.Index(p.s[p.i:], "-->")
	if end < 0 {
		p.i = len(p.s)
		p.abort("Comment not terminated \n<!--%.50s", p.s[min(p.i, len(p.s)):])
	}
	text := p.s[p.i : p.i+end]
	if k := strings.Index(text, "--"); k >= 0 {
		p.i += k
		p.fail("Double hyphen within comment: <!--%.50s", text[:k])
		p.i -= k
	}
	p.i += end + 3
	p.add(parent, &Node{Kind: Comment, Value: text})
}

func (p *parser) instruction(parent *Node) {
	p.i += 2
	name := p.name()
	if name == "" {
		p.abort("xmlParsePI : no target name")
	}
	if strings.EqualFold(name, "xml") {
		p.fail("XML declaration allowed only at the start of the document")
	}
	p.blanks()
	end := strings.Index(p.s[p.i:], "?>")
	if end < 0 {
		p.i = len(p.s)
		p.abort("ParsePI: PI %s never end ...", name)
	}
	p.add(parent, &Node{Kind: Instruction, Name: name, Value: p.s[p.i : p.i+end]})
	p.i += end + 2
}

// doctype keeps the declaration as it is written, and notes the entities of the internal subset.
func (p *parser) doctype() {
	from := p.i
	depth, quote, inside := 0, byte(0), false
	for p.i += 9; p.i < len(p.s); p.i++ {
		c := p.s[p.i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case p.has("<!--"):
			if k := strings.Index(p.s[p.i:], "-->"); k >= 0 {
				p.i += k + 2
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case c == '>' && !inside:
			p.i++
			text := p.s[from:p.i]
			p.declareEntities(text)
			p.add(p.doc, &Node{Kind: Doctype, Value: text})
			return
		}
	}
	p.abort("DOCTYPE improperly terminated")
}

func (p *parser) declareEntities(text string) {
	for {
		_, rest, ok := strings.Cut(text, "<!ENTITY")
		if !ok {
			return
		}
		text = rest
		name, value, ok := strings.Cut(strings.TrimLeft(rest, " \t\n"), " ")
		value = strings.TrimLeft(value, " \t\n")
		if !ok || name == "%" || value == "" || value[0] != '"' && value[0] != '\'' {
			continue
		}
		if v, _, ok := strings.Cut(value[1:], value[:1]); ok {
			if _, had := p.doc.entities[name]; !had {
				p.doc.entities[name] = v
			}
		}
	}
}

var predefined = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`, "apos": "'"}

// reference reads one after its &: a character, or the name of an entity.
func (p *parser) reference() (text, entity string, ok bool) {
	p.i++
	if p.has("#") {
		from := p.i
		p.i++
		base := 10
		if p.has("x") {
			base = 16
			p.i++
		}
		digits := p.i
		for p.i < len(p.s) && strings.IndexByte("0123456789abcdefABCDEF", p.s[p.i]) >= 0 {
			p.i++
		}
		n, err := strconv.ParseUint(p.s[digits:p.i], base, 32)
		if err != nil || !p.has(";") {
			if base == 16 {
				p.fail("CharRef: invalid hexadecimal value")
			} else {
				p.fail("CharRef: invalid decimal value")
			}
			p.fail("xmlParseCharRef: invalid xmlChar value 0")
			return p.s[from-1 : p.i], "", false
		}
		p.i++
		if r := rune(n); n == 0 || n > utf8.MaxRune || n < 32 && n != 9 && n != 10 && n != 13 || !utf8.ValidRune(r) {
			p.fail("xmlParseCharRef: invalid xmlChar value %d", n)
			return "", "", false
		}
		return string(rune(n)), "", true
	}
	name := p.name()
	if name == "" {
		p.fail("xmlParseEntityRef: no name")
		return "&", "", false
	}
	if !p.has(";") {
		p.fail("EntityRef: expecting ';'")
		return "", "", false
	}
	p.i++
	if v, ok := predefined[name]; ok {
		return v, "", true
	}
	if _, ok := p.doc.entities[name]; !ok {
		p.fail("Entity '%s' not defined", name)
		return "", name, false
	}
	return "", name, true
}

// expand replaces the references in the text of an entity.
func (p *parser) expand(name string, depth int) string {
	v := p.doc.entities[name]
	if depth > 20 {
		p.abort("Detected an entity reference loop")
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(v, "&")
		b.WriteString(before)
		if !ok {
			break
		}
		ref, after, ok := strings.Cut(rest, ";")
		if !ok {
			b.WriteString("&" + rest)
			break
		}
		v = after
		if n, isNumber := strings.CutPrefix(ref, "#"); isNumber {
			base := 10
			if h, ok := strings.CutPrefix(n, "x"); ok {
				n, base = h, 16
			}
			if c, err := strconv.ParseUint(n, base, 32); err == nil {
				b.WriteRune(rune(c))
			}
		} else if s, ok := predefined[ref]; ok {
			b.WriteString(s)
		} else {
			b.WriteString(p.expand(ref, depth+1))
		}
		p.Tick(1)
		if p.expanded+b.Len() > maxExpand {
			p.abort("Maximum entity amplification factor exceeded")
		}
	}
	p.expanded += b.Len()
	p.Hold(b.Len())
	return b.String()
}

func (p *parser) element(parent *Node, depth int) {
	if depth > maxDepth {
		p.abort("Excessive depth in document: %d use XML_PARSE_HUGE option", maxDepth)
	}
	p.i++
	n := &Node{Kind: Element, Line: p.at()}
	if n.Name = p.name(); n.Name == "" {
		p.broken = depth == 1
		p.abort("StartTag: invalid element name")
	}
	p.add(parent, n)
	for {
		spaced := p.blanks()
		if p.has(">") || p.has("/>") {
			break
		}
		if p.i >= len(p.s) || !spaced {
			p.broken = depth == 1
			if spaced || len(n.Attrs) == 0 {
				p.fail("Couldn't find end of Start Tag %s line %d", n.Name, n.Line)
				panic(stop{})
			}
			p.fail("attributes construct error")
			p.abort("Couldn't find end of Start Tag %s line %d", n.Name, n.Line)
		}
		p.broken = depth == 1
		if !p.attribute(n) {
			if p.has(">") || p.has("/>") {
				break
			}
			p.abort("Couldn't find end of Start Tag %s line %d", n.Name, n.Line)
		}
	}
	p.broken = false
	p.resolve(n)
	if p.has("/>") {
		p.i += 2
		return
	}
	p.i++
	p.content(n, depth)
}

// attribute reads one; false when the tag makes no sense.
func (p *parser) attribute(n *Node) bool {
	a := &Node{Kind: Attribute, Parent: n}
	if a.Name = p.name(); a.Name == "" {
		p.fail("xmlParseStartTag: problem parsing attributes")
		return false
	}
	p.blanks()
	if !p.has("=") {
		p.fail("Specification mandates value for attribute %s", a.Name)
		return false
	}
	p.i++
	p.blanks()
	if !p.has(`"`) && !p.has("'") {
		p.fail("AttValue: \" or ' expected")
		p.fail("attributes construct error")
		return false
	}
	quote := p.s[p.i]
	p.i++
	var b strings.Builder
	for {
		if p.i >= len(p.s) {
			p.fail("AttValue: ' expected")
			p.fail("attributes construct error")
			return false
		}
		c := p.s[p.i]
		switch c {
		case quote:
			p.i++
			a.Value = b.String()
			p.Hold(160 + len(a.Value))
			p.Tick(1)
			for _, o := range n.Attrs {
				if o.Name == a.Name {
					p.fail("Attribute %s redefined", a.Name)
					return true
				}
			}
			if a.Declares() {
				k := 0
				for k < len(n.Attrs) && n.Attrs[k].Declares() {
					k++
				}
				n.Attrs = append(n.Attrs[:k], append([]*Node{a}, n.Attrs[k:]...)...)
			} else {
				n.Attrs = append(n.Attrs, a)
			}
			return true
		case '<':
			p.fail("Unescaped '<' not allowed in attributes values")
			p.fail("attributes construct error")
			return false
		case '&':
			text, entity, ok := p.reference()
			if ok && entity != "" {
				text = p.expand(entity, 0)
			}
			b.WriteString(text)
		case '\n', '\t':
			b.WriteByte(' ')
			p.i++
		default:
			b.WriteByte(c)
			p.i++
		}
	}
}

// resolve finds the namespaces of an element and its attributes.
func (p *parser) resolve(n *Node) {
	var ok bool
	if n.Space, ok = n.Lookup(n.Prefix()); !ok {
		p.complain("namespace", "Namespace prefix %s on %s is not defined", n.Prefix(), n.Local())
	}
	for _, a := range n.Attrs {
		if prefix := a.Prefix(); prefix != "" && !a.Declares() {
			if a.Space, ok = n.Lookup(prefix); !ok {
				p.complain("namespace", "Namespace prefix %s for %s on %s is not defined", prefix, a.Local(), n.Local())
			}
		}
	}
}

func (p *parser) content(n *Node, depth int) {
	for {
		if p.i >= len(p.s) {
			p.fail("Premature end of data in tag %s line %d", n.Name, n.Line)
			return
		}
		switch {
		case p.has("</"):
			p.i += 2
			name := p.name()
			p.blanks()
			if p.has(">") {
				p.i++
			} else {
				p.fail("expected '>'")
			}
			if name != n.Name {
				p.fail("Opening and ending tag mismatch: %s line %d and %s", n.Name, n.Line, name)
			}
			return
		case p.has("<!--"):
			p.comment(n)
		case p.has("<![CDATA["):
			p.i += 9
			end := strings.Index(p.s[p.i:], "]]>")
			if end < 0 {
				p.i = len(p.s)
				p.abort("CData section not finished\n%.50s", "")
			}
			kind := CData
			if p.NoCData {
				kind = Characters
			}
			p.text(n, kind, p.s[p.i:p.i+end])
			p.i += end + 3
		case p.has("<?"):
			p.instruction(n)
		case p.has("<"):
			p.element(n, depth+1)
		default:
			p.characters(n)
		}
	}
}

// text adds to the text before, if it is of one kind.
func (p *parser) text(n *Node, kind Kind, s string) {
	p.Hold(len(s))
	if k := len(n.Children); k > 0 && kind == Characters && n.Children[k-1].Kind == kind {
		n.Children[k-1].Value += s
		return
	}
	p.add(n, &Node{Kind: kind, Value: s})
}

func (p *parser) characters(n *Node) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			p.text(n, Characters, b.String())
			b.Reset()
		}
	}
	from := p.i
	for p.i < len(p.s) && p.s[p.i] != '<' {
		switch c := p.s[p.i]; {
		case c == '&':
			text, entity, ok := p.reference()
			switch {
			case ok && entity != "" && p.Expand:
				b.WriteString(p.expand(entity, 0))
			case entity != "":
				flush()
				if !ok {
					p.add(n, &Node{Kind: Reference, Name: entity})
				} else {
					p.add(n, &Node{Kind: Reference, Name: entity, Value: p.expand(entity, 0)})
				}
			default:
				b.WriteString(text)
			}
			continue
		case c < ' ' && c != '\n' && c != '\t':
			p.fail("PCDATA invalid Char value %d", c)
		case c == ']' && p.has("]]>"):
			p.fail("Sequence ']]>' not allowed in content")
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
		p.i++
	}
	if p.NoBlanks && strings.TrimLeft(p.s[from:p.i], " \t\n") == "" && p.droppable(n) {
		return
	}
	flush()
}

// droppable reports whether blanks at the current place are between elements.
func (p *parser) droppable(n *Node) bool {
	if !p.has("<") {
		return false
	}
	for e := n; e != nil; e = e.Parent {
		for _, a := range e.Attrs {
			if a.Name == "xml:space" {
				return a.Value != "preserve"
			}
		}
	}
	k := len(n.Children)
	if k == 0 {
		return !p.has("</")
	}
	return n.Children[k-1].Kind != Characters && n.Children[0].Kind != Characters
}
