package format

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

// How yq names what is no element.
const (
	xmlAttribute   = "+@"
	xmlText        = "+content"
	xmlInstruction = "+p_"
	xmlDirective   = "+directive"
)

// element is one that is open.
type element struct {
	name   string
	values *jq.Object
	many   map[string][]any // elements of a name so far
	text   strings.Builder
}

func (e *element) add(name string, v any, tick func(int)) {
	if e.many == nil {
		e.many = map[string][]any{}
	}
	all := append(e.many[name], v)
	e.many[name] = all
	if len(all) == 1 {
		e.values = put(e.values, name, v, tick) // its place; finish puts all of them there
	}
}

// finish is the value of an element: its text when it has nothing else.
func (e *element) finish(tick func(int)) any {
	for name, all := range e.many {
		if len(all) > 1 {
			e.values = put(e.values, name, jq.NewArray(all), tick)
		}
	}
	text := strings.TrimSpace(e.text.String())
	empty := true
	for range e.values.All() {
		empty = false
		break
	}
	switch {
	case empty && text == "":
		return nil
	case empty:
		return text
	case text != "":
		e.values = e.values.Set(xmlText, text)
	}
	return e.values
}

// decodeXML never fetches what a document names: the decoder knows only the five predefined entities.
func decodeXML(text []byte, tick, hold func(int)) (any, error) {
	if err := size(text); err != nil {
		return nil, err
	}
	d := xml.NewDecoder(counted(text, tick))
	open := []*element{{values: jq.NewObject()}}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		tick(1)
		hold(160)
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > maxDepth {
				return nil, ErrTooDeep
			}
			e := &element{name: rawName(t.Name), values: jq.NewObject()}
			for _, a := range t.Attr {
				tick(1)
				hold(160 + len(a.Value))
				e.values = put(e.values, xmlAttribute+rawName(a.Name), a.Value, tick)
			}
			open = append(open, e)
		case xml.EndElement:
			if len(open) == 1 || top.name != rawName(t.Name) {
				return nil, fmt.Errorf("line %d: unexpected end of <%s>", lineOf(text, d.InputOffset()), rawName(t.Name))
			}
			open = open[:len(open)-1]
			open[len(open)-1].add(top.name, top.finish(tick), tick)
		case xml.CharData:
			hold(len(t))
			top.text.Write(t)
		case xml.ProcInst:
			hold(160 + len(t.Inst))
			top.values = put(top.values, xmlInstruction+t.Target, string(t.Inst), tick)
		case xml.Directive:
			top.values = put(top.values, xmlDirective, string(t), tick)
		}
	}
	if len(open) > 1 {
		return nil, fmt.Errorf("<%s> has no end", open[len(open)-1].name)
	}
	return open[0].finish(tick), nil
}

func lineOf(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte{'\n'})
}

func rawName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

func encodeXML(v any, indent int, tick, hold func(int)) ([]byte, error) {
	b := &buffer{tick: tick, hold: hold}
	o, ok := v.(*jq.Object)
	if !ok {
		s, ok := scalar(v)
		if !ok {
			return nil, unfit("XML", v)
		}
		xmlEscape(b, s)
		b.WriteByte('\n')
		return b.Bytes(), nil
	}
	for k, x := range o.All() {
		if err := xmlWrite(b, k, x, indent, 0); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func xmlEscape(b *buffer, s string) { _ = xml.EscapeText(b, []byte(s)) } // a buffer takes everything

func xmlWrite(b *buffer, name string, v any, indent, depth int) error {
	if depth > maxDepth {
		return ErrTooDeep
	}
	line := func(s string) {
		b.WriteString(strings.Repeat(" ", indent*depth))
		b.WriteString(s)
	}
	if s, ok := v.(string); ok {
		switch {
		case strings.HasPrefix(name, xmlInstruction):
			line("<?" + strings.TrimPrefix(name, xmlInstruction) + " " + s + "?>\n")
			return nil
		case name == xmlDirective:
			line("<!" + s + ">\n")
			return nil
		}
	}
	if !xmlName(name) {
		return fmt.Errorf("%q cannot be the name of an element", name)
	}
	switch v := v.(type) {
	case *jq.Array:
		for _, x := range v.Values() {
			if err := xmlWrite(b, name, x, indent, depth); err != nil {
				return err
			}
		}
		return nil
	case *jq.Object:
		line("<" + name)
		inner, text := false, ""
		for k, x := range v.All() {
			s, isScalar := scalar(x)
			switch {
			case strings.HasPrefix(k, xmlAttribute) && isScalar && xmlName(strings.TrimPrefix(k, xmlAttribute)):
				b.WriteString(" " + strings.TrimPrefix(k, xmlAttribute) + `="`)
				xmlEscape(b, s)
				b.WriteByte('"')
			case k == xmlText && isScalar:
				text = s
			default:
				inner = true
			}
		}
		b.WriteByte('>')
		xmlEscape(b, text)
		if inner {
			b.WriteByte('\n')
			for k, x := range v.All() {
				if _, isScalar := scalar(x); isScalar && (k == xmlText || strings.HasPrefix(k, xmlAttribute)) {
					continue
				}
				if err := xmlWrite(b, k, x, indent, depth+1); err != nil {
					return err
				}
			}
			line("")
		}
		b.WriteString("</" + name + ">\n")
		return nil
	}
	s, _ := scalar(v)
	line("<" + name + ">")
	xmlEscape(b, s)
	b.WriteString("</" + name + ">\n")
	return nil
}

// xmlName keeps a key from ending the tag it stands in.
func xmlName(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\r\n<>&\"'=/?!\x00") && (s[0] < '0' || s[0] > '9')
}
