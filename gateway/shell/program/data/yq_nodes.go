package data

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	nodes "go.yaml.in/yaml/v3"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
	yqlang "github.com/pgbox/pgbox/gateway/shell/lang/yq"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/shell/text/format"
	"github.com/pgbox/pgbox/gateway/shell/text/yaml"
)

// machine is what yq's own expressions may use.
func (r *yqRun) machine() *yqlang.Machine {
	return &yqlang.Machine{
		Tick: r.p.Tick, Hold: r.hold, Env: r.p.Env.Get, Now: func() time.Time { return r.p.Now() }, Zone: datetime.Zone,
		Read: func(name string) ([]byte, error) {
			data, err := r.p.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("open %s: %s", name, strings.ToLower(proc.Strerror(err)))
			}
			return data, nil
		},
		Decode: func(name string, text []byte) (*nodes.Node, error) {
			if codec, ok := format.Named(name); ok {
				v, err := codec.Decode(text, r.p.Tick, r.hold)
				if err != nil {
					return nil, err
				}
				return yaml.New(v).Node(), nil
			}
			docs, err := yaml.Parse(text, r.p.Tick, r.hold)
			if len(docs) > 1 {
				list := &nodes.Node{Kind: nodes.SequenceNode, Tag: "!!seq"}
				for _, d := range docs {
					list.Content = append(list.Content, d.Node().Content...)
				}
				return list, err
			}
			if err != nil || len(docs) == 0 {
				return &nodes.Node{Kind: nodes.ScalarNode, Tag: "!!null", Value: "null"}, err
			}
			return docs[0].Node(), nil
		},
		Encode: func(name string, n *nodes.Node, indent int) (string, error) {
			text, err := r.encode(name, yaml.FromNode(n), indent)
			return string(text), err
		},
	}
}

// encode writes nodes in a format.
func (r *yqRun) encode(name string, d yaml.Document, indent int) ([]byte, error) {
	if name == "yaml" {
		return yaml.Encode([]yaml.Document{d}, max(indent, 2), r.p.Tick, r.hold)
	}
	if name == "c" || name == "t" || name == "x" || name == "csv" || name == "tsv" || name == "xml" {
		texts, err := r.machine().Texts(d.Node())
		if err != nil {
			return nil, err
		}
		d = yaml.FromNode(texts)
	}
	v, err := d.Value(r.hold)
	if err != nil {
		return nil, err
	}
	if codec, ok := format.Named(name); ok {
		return codec.Encode(v, indent, r.p.Tick, r.hold)
	}
	return r.jsonText(jq.Style{Indent: strings.Repeat(" ", indent)}, v), nil
}

// jsonText is a value as JSON. What it will take is counted first, because the printer cannot be ended.
func (r *yqRun) jsonText(style jq.Style, v any) []byte {
	r.hold(format.JSONSize(v, len(style.Indent), r.p.Tick))
	return append(style.Append(nil, v), '\n')
}

// nodeRun evaluates an expression of yq's own language.
type nodeRun struct {
	*yqRun
	program, name *yqlang.Program // what is printed, and the names of the files of -s
	printed       bool
	last          *yqlang.Node
	printedText   []byte
}

// files evaluates the expression on the files, each document by itself or with -a all together.
func (r *nodeRun) files(names []string, inPlace bool) (string, error) {
	var all []*yqlang.Node
	for i, name := range names {
		docs, err := r.read(name, i)
		if err != nil {
			return name, err
		}
		for _, d := range docs {
			n := yqlang.NewNode(d.Node(), yqlang.Source{File: d.file, Document: d.document, Name: d.name, Lead: d.lead})
			if r.all {
				all = append(all, n)
				continue
			}
			if err := r.eval([]*yqlang.Node{n}, false); err != nil {
				return "", err
			}
		}
		if !r.all {
			if err := r.flush(name, inPlace); err != nil {
				return name, err
			}
		}
	}
	if !r.all {
		return "", nil
	}
	if err := r.eval(all, true); err != nil {
		return "", err
	}
	return names[0], r.flush(names[0], inPlace)
}

func (r *nodeRun) flush(name string, inPlace bool) error {
	out := append(r.printedText, r.tail...)
	r.printedText, r.tail = nil, nil
	if inPlace {
		r.last = nil
	}
	return r.write(name, out, inPlace)
}

func (r *nodeRun) eval(list []*yqlang.Node, together bool) error {
	found, err := r.machine().Eval(r.program, list, together, nil)
	if err != nil {
		return err
	}
	for _, n := range found {
		text, err := r.text(n)
		if err != nil {
			return err
		}
		r.hold(len(text))
		r.printed = r.printed || n.True()
		if r.name != nil {
			if err := r.part(n, text); err != nil {
				return err
			}
			continue
		}
		if r.last != nil && !r.json && r.out == nil && !r.noSep &&
			(n.Document() != r.last.Document() || n.File() != r.last.File()) {
			r.printedText = append(r.printedText, "---\n"...)
		}
		r.last = n
		r.printedText = append(r.printedText, text...)
	}
	return nil
}

// part writes a result into a file of its own.
func (r *nodeRun) part(n *yqlang.Node, text []byte) error {
	index := &nodes.Node{Kind: nodes.ScalarNode, Tag: "!!int", Value: strconv.Itoa(r.results)}
	r.results++
	names, err := r.machine().Eval(r.name, []*yqlang.Node{n}, false, map[string]*nodes.Node{"index": index})
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("no name for the file")
	}
	name, _ := names[0].Scalar()
	if r.results > 1 && !r.json && r.out == nil && r.encoder == "" && !r.noSep && n.Document() > 0 {
		text = append([]byte("---\n"), text...)
	}
	return r.writePart(name, text)
}

// text is a result as it is printed.
func (r *nodeRun) text(n *yqlang.Node) ([]byte, error) {
	if s, ok := n.Scalar(); ok && n.YAML().Kind != nodes.AliasNode {
		if r.raw && (!r.json || r.rawGiven) && r.out == nil || r.encoder != "" {
			if r.encoder == "" {
				return append([]byte(s), '\n'), nil
			}
		}
	}
	switch {
	case r.encoder != "":
		t, err := r.machine().Text(r.encoder, n)
		return []byte(t), err
	case r.out != nil && (r.outName == "props" || r.outName == "properties" || r.outName == "p"):
		t, err := r.machine().Text("props", n)
		return []byte(t), err
	case r.out != nil:
		return r.encode(r.outName, yaml.FromNode(n.YAML()), r.indent)
	case r.json || r.compact && n.YAML().Kind != nodes.ScalarNode:
		indent := r.indent
		if r.compact {
			indent = 0
		}
		return r.encode("json", yaml.FromNode(n.YAML()), indent)
	}
	node := n.YAML()
	if r.pretty {
		yqlang.Pretty(node)
	}
	text, err := r.encode("yaml", yaml.FromNode(node), r.indent)
	if lead := n.Source().Lead; len(lead) > 0 && n.IsDocument() && err == nil {
		if r.noSep {
			lead = bytes.TrimSuffix(lead, []byte("---\n"))
		}
		text = append(bytes.Clone(lead), text...)
	}
	return text, err
}

// leading is what stands before the first document: comments and the line ---.
func leading(text []byte) (lead, rest []byte) {
	for at := 0; at < len(text); {
		line := text[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		at += len(line)
		switch trimmed := bytes.TrimRight(line, " \t\r\n"); {
		case string(trimmed) == "---":
			return text[:at], text[at:]
		case len(trimmed) > 0 && trimmed[0] != '#':
			return nil, text
		}
	}
	return nil, text
}

// frontMatter splits a text at the line --- that ends what it begins with.
func frontMatter(text []byte) (head, rest []byte) {
	body := bytes.TrimPrefix(text, []byte("---\n"))
	if bytes.HasPrefix(body, []byte("---")) {
		return nil, body
	}
	if i := bytes.Index(body, []byte("\n---")); i >= 0 {
		return text[:len(text)-len(body)+i+1], body[i+1:]
	}
	return text, nil
}
