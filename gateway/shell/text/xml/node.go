package xml

// Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Document Kind = iota
	Element
	Attribute
	Characters
	CData
	Comment
	Instruction
	Reference // of an entity, which is not expanded
	Doctype
	Namespace
)

// Node is a part of a document. Of an attribute Value is the value; of text and comments it is the content; of an
// instruction Name is the target.
type Node struct {
	Kind     Kind
	Name     string // as written, with its prefix
	Space    string // the namespace
	Value    string
	Parent   *Node
	Children []*Node
	Attrs    []*Node // namespaces that are declared come first
	Order    int     // of the document
	Line     int

	// Of a document.
	Version, Encoding, Standalone string
	entities                      map[string]string
}

// Local is the name without its prefix.
func (n *Node) Local() string {
	for i := range len(n.Name) {
		if n.Name[i] == ':' {
			return n.Name[i+1:]
		}
	}
	return n.Name
}

// Prefix is what stands before the colon of the name.
func (n *Node) Prefix() string {
	if l := len(n.Name) - len(n.Local()); l > 0 {
		return n.Name[:l-1]
	}
	return ""
}

// Root is the outermost element, nil without one.
func (n *Node) Root() *Node {
	for _, c := range n.Children {
		if c.Kind == Element {
			return c
		}
	}
	return nil
}

// declares reports whether an attribute declares a namespace, and its prefix.
func (n *Node) declares() (prefix string, ok bool) {
	if n.Name == "xmlns" {
		return "", true
	}
	if n.Prefix() == "xmlns" {
		return n.Local(), true
	}
	return "", false
}

// Declares reports whether an attribute declares a namespace.
func (n *Node) Declares() bool {
	_, ok := n.declares()
	return ok
}

// spaceXML is the namespace of the prefix xml.
const spaceXML = "http://www.w3.org/XML/1998/namespace"

// Lookup finds the namespace of a prefix as the node sees it.
func (n *Node) Lookup(prefix string) (space string, ok bool) {
	if prefix == "xml" {
		return spaceXML, true
	}
	for e := n; e != nil; e = e.Parent {
		for _, a := range e.Attrs {
			if p, ok := a.declares(); ok && p == prefix {
				return a.Value, true
			}
		}
	}
	return "", prefix == ""
}

// Text is the string value: all text within.
func (n *Node) Text(tick func(int)) string {
	switch n.Kind {
	case Document, Element:
		var b []byte
		var walk func(n *Node)
		walk = func(n *Node) {
			tick(1)
			for _, c := range n.Children {
				switch c.Kind {
				case Element:
					walk(c)
				case Characters, CData, Reference:
					b = append(b, c.Value...)
				}
			}
		}
		walk(n)
		return string(b)
	}
	return n.Value
}

// Number gives the nodes their order in the document.
func (n *Node) Number() {
	next := 0
	var walk func(n *Node)
	walk = func(n *Node) {
		n.Order = next
		next++
		for _, a := range n.Attrs {
			a.Order = next
			next++
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(n)
}
