package data

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/pgbox/pgbox/gateway/shell/lang/xpath"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/xml"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Statuses of xmllint.
const (
	lintUsage     = 1
	lintMalformed = 1
	lintWrite     = 6
	lintPattern   = 10
)

type xmllintRun struct {
	p                                       *proc.Process
	options                                 xml.Options
	format, silent, canonical, isHTML, drop bool
	level                                   int
	expr                                    string
	encoding, output                        string
	out                                     []byte
	held                                    int
}

// xmllintIgnored are options that change nothing here; those that take an argument have a space after them.
const xmllintIgnored = "--huge --nonet --nocompact --nodict --nofixup-base-uris --load-trace --sax1 --sax --stream --push --memory --timing --quiet --nowarning --copy --valid --postvalid --loaddtd --dtdattr --nodefdtd --noxincludenode --xinclude --nocatalogs --catalogs --oldxml10 --noenc --nsclean --testIO --xmlout --nowrap --htmlout --auto "

// xmllint takes its options with one or two dashes, wherever they stand.
func xmllint(_ context.Context, p *proc.Process) int {
	r := &xmllintRun{p: p, level: -1}
	defer func() { p.Release(r.held) }()
	r.options = xml.Options{Tick: p.Tick, Hold: func(n int) {
		r.held += n
		p.Hold(n)
	}}
	var files []string
	args := p.Args[1:]
	usage := func(problem string) int {
		p.Out.Flush()
		if problem != "" {
			p.Err.WriteString(problem + "\n")
		}
		p.Err.WriteString("Usage : xmllint [options] XMLfiles ...\n\tParse the XML files and output the result of the parsing\n")
		return lintUsage
	}
	value := func(i *int) string {
		if *i++; *i < len(args) {
			return args[*i]
		}
		return ""
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "-" || !strings.HasPrefix(a, "-") {
			files = append(files, a)
			continue
		}
		switch name := "--" + strings.TrimLeft(a, "-"); name {
		case "--help":
			usage("")
			return 0
		case "--version":
			p.Err.WriteString("xmllint: using libxml version 20914\n")
			if len(args) == 1 {
				return 0
			}
		case "--format":
			r.format, r.options.NoBlanks = true, true
		case "--noblanks":
			r.options.NoBlanks = true
		case "--pretty":
			n, err := strconv.Atoi(value(&i))
			r.level = n
			if err == nil && n == 1 {
				r.format, r.options.NoBlanks = true, true
			}
		case "--noout":
			r.silent = true
		case "--noent":
			r.options.Expand = true
		case "--nocdata":
			r.options.NoCData = true
		case "--recover":
			r.options.Recover = true
		case "--dropdtd":
			r.drop = true
		case "--c14n", "--c14n11", "--exc-c14n":
			r.canonical, r.options.NoCData = true, true
		case "--html":
			r.isHTML = true
		case "--xpath":
			r.expr, r.silent = value(&i), true
		case "--encode":
			r.encoding = value(&i)
		case "--output", "--o":
			r.output = value(&i)
		case "--path", "--maxmem", "--dtdvalid", "--dtdvalidfpi", "--repeat":
			if name != "--repeat" {
				value(&i)
			}
		case "--schema", "--relaxng", "--schematron", "--pattern", "--shell", "--walker":
			p.Errorf("%s is not supported", name)
			return lintUsage
		default:
			if !strings.Contains(xmllintIgnored, name+" ") {
				return usage("Unknown option " + a)
			}
		}
	}
	switch strings.ToLower(r.encoding) {
	case "", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1":
	default:
		p.Err.WriteString("Unknown encoding: " + r.encoding + "\n")
		return lintUsage
	}
	if len(files) == 0 {
		return usage("")
	}
	status := 0
	for _, f := range files {
		if s := r.file(f); s != 0 {
			status = s
		}
	}
	if r.output == "" {
		return status
	}
	f, err := p.Open(r.output, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err == nil {
		_, err = f.Write(r.out)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		p.Out.Flush()
		p.Err.WriteString("failed save to " + r.output + "\n")
		return lintWrite
	}
	return status
}

func (r *xmllintRun) write(b []byte) {
	if r.output != "" {
		r.options.Hold(len(b))
		r.out = append(r.out, b...)
		return
	}
	r.p.Out.Write(b)
}

func (r *xmllintRun) read(name string) (doc *xml.Node, ok bool) {
	f, err := r.p.OpenInput(name)
	var data []byte
	if err == nil {
		data, err = r.p.ReadAll(f)
		_ = f.Close()
	}
	if err != nil {
		r.p.Out.Flush()
		r.p.Err.WriteString("warning: failed to load external entity \"" + name + "\"\n")
		return nil, false
	}
	r.held += cap(data)
	if r.isHTML {
		return htmlDocument(string(data), r.options)
	}
	doc, problems := xml.Parse(string(data), r.options)
	shown := name
	for _, e := range problems {
		r.p.Out.Flush()
		r.p.Err.WriteString(shown + ":" + e.Error() + "\n")
	}
	return doc, doc != nil && (!hasFatal(problems) || r.options.Recover)
}

func hasFatal(problems []*xml.SyntaxError) bool {
	for _, e := range problems {
		if e.Kind == "parser" {
			return true
		}
	}
	return false
}

func (r *xmllintRun) file(name string) int {
	doc, ok := r.read(name)
	if !ok {
		return lintMalformed
	}
	w := &xml.Writer{Format: r.format, Indent: "  ", Tick: r.p.Tick}
	if v, ok := r.p.Env.Get("XMLLINT_INDENT"); ok {
		w.Indent = v
	}
	if r.drop {
		kept := doc.Children[:0]
		for _, c := range doc.Children {
			if c.Kind != xml.Doctype {
				kept = append(kept, c)
			}
		}
		doc.Children = kept
	}
	if r.expr != "" {
		w.ASCIIAttrs = doc.Encoding == ""
		return r.query(doc, w)
	}
	if r.silent {
		return 0
	}
	if r.canonical {
		r.write(w.Canonical(nil, doc))
		return 0
	}
	encoding := doc.Encoding
	if r.encoding != "" {
		encoding = r.encoding
	}
	switch strings.ToLower(encoding) {
	case "", "us-ascii", "ascii":
		w.ASCII, w.Decimal = true, r.encoding != ""
	case "iso-8859-1", "latin1":
		w.Latin1 = true
	}
	r.write(w.Document(nil, doc, encoding))
	return 0
}

// query prints what --xpath finds.
func (r *xmllintRun) query(doc *xml.Node, w *xml.Writer) int {
	fail := func(err error) int {
		r.p.Out.Flush()
		if name, ok := strings.CutPrefix(err.Error(), xpath.ErrFunction.Error()+": "); ok {
			r.p.Err.WriteString("xmlXPathCompOpEval: function " + name + " not found\n")
			err = xpath.ErrFunction
		}
		r.p.Err.WriteString("XPath error : " + err.Error() + "\nXPath evaluation failure\n")
		return lintPattern
	}
	x, err := xpath.Compile(r.expr)
	if err != nil {
		return fail(err)
	}
	v, err := x.Eval(doc, &xpath.Env{Tick: r.p.Tick, Hold: r.options.Hold})
	if err != nil {
		return fail(err)
	}
	switch v := v.(type) {
	case []*xml.Node:
		if len(v) == 0 {
			r.p.Out.Flush()
			r.p.Err.WriteString("XPath set is empty\n")
			return lintPattern
		}
		for _, n := range v {
			r.write(append(w.Node(nil, n), '\n'))
		}
	case float64:
		r.write([]byte(cNumber(v) + "\n"))
	default:
		r.write([]byte(xpath.Text(v) + "\n"))
	}
	return 0
}

// cNumber is a number as C's %g writes it.
func cNumber(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return xpath.Text(f)
	}
	s := strconv.FormatFloat(f, 'e', 5, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	if e < -4 || e >= 6 {
		return fmt.Sprintf("%se%+03d", strings.TrimSuffix(strings.TrimRight(mantissa, "0"), "."), e)
	}
	s = strconv.FormatFloat(f, 'f', 5-e, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// maxHTMLDepth bounds the nesting of HTML that is taken over.
const maxHTMLDepth = 512

// htmlDocument is a page as a tree of XML.
func htmlDocument(text string, o xml.Options) (*xml.Node, bool) {
	o.Hold(4 * len(text))
	o.Tick(len(text) >> 4)
	top, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil, false
	}
	doc := &xml.Node{Kind: xml.Document, Version: "1.0"}
	var take func(to *xml.Node, n *html.Node, depth int)
	take = func(to *xml.Node, n *html.Node, depth int) {
		for c := n.FirstChild; c != nil && depth < maxHTMLDepth; c = c.NextSibling {
			o.Tick(1)
			o.Hold(160 + len(c.Data))
			k := &xml.Node{Parent: to}
			switch c.Type {
			case html.TextNode:
				k.Kind, k.Value = xml.Characters, c.Data
			case html.CommentNode:
				k.Kind, k.Value = xml.Comment, c.Data
			case html.DoctypeNode:
				k.Kind, k.Value = xml.Doctype, "<!DOCTYPE "+c.Data+">"
			case html.ElementNode:
				k.Kind, k.Name = xml.Element, c.Data
				for _, a := range c.Attr {
					k.Attrs = append(k.Attrs, &xml.Node{Kind: xml.Attribute, Name: a.Key, Value: a.Val, Parent: k})
				}
				if c.Data == "head" && c.FirstChild == nil {
					continue // it was made up
				}
				take(k, c, depth+1)
			default:
				continue
			}
			to.Children = append(to.Children, k)
		}
	}
	take(doc, top, 0)
	doc.Number()
	return doc, true
}
