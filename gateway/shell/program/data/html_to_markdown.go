package data

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var htmlSpec = getopt.New("b:c:r:", "bullet:=b code:=c hr:=r heading-style: domain:").WithVersion("(pgbox)").
	WithUsage("[OPTION]... [FILE]...", "Convert HTML to Markdown (CommonMark with tables and strikethrough).\n\n"+
		"  -b CHAR is the bullet of lists (-, + or *), -c FENCE that of code blocks (``` or ~~~), -r RULE a horizontal rule;\n"+
		"  --heading-style is atx or setext; relative links are resolved against --domain.")

var errHTMLSize = errors.New("document too large")

const (
	// htmlMax bounds a document, which is held as a tree.
	htmlMax = 4 << 20
	// htmlLink is how far from its beginning the text of a link may end.
	htmlLink = 4 << 10
	// htmlFactor is how much more than its text the tree of a document takes, about.
	htmlFactor = 12
)

func htmlToMarkdown(ctx context.Context, p *proc.Process) int {
	opts, args := htmlSpec.Parse(p)
	bullet, fence, rule, heading, domain := "-", "```", "---", "atx", ""
	for _, o := range opts {
		switch o.Key {
		case "b":
			bullet = o.Value
		case "c":
			fence = o.Value
		case "r":
			rule = o.Value
		case "heading-style":
			heading = program.Choose(p, htmlSpec, "heading-style", o.Value, "atx", "setext")
		case "domain":
			domain = o.Value
		}
	}
	style := commonmark.HeadingStyleATX
	if heading == "setext" {
		style = commonmark.HeadingStyleSetext
	}
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithBulletListMarker(bullet), commonmark.WithCodeBlockFence(fence),
			commonmark.WithHorizontalRule(rule), commonmark.WithHeadingStyle(style), commonmark.WithListEndComment(false)),
		table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin(),
	))
	// Every element passes here first, so that a long conversion can be ended.
	spans := 0
	c.Register.Renderer(func(_ converter.Context, _ converter.Writer, n *html.Node) converter.RenderStatus {
		p.Tick(8)
		if n.Type == html.ElementNode && n.Data == "table" {
			boundSpans(n, &spans)
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly-100)
	// So does every character that may have to be escaped. To find out whether a bracket is that of a link, the library
	// looks through the rest of the line: in a long line, each is escaped.
	c.Register.UnEscaper(func(text []byte, i int) int {
		p.Tick(1)
		if text[i] != '[' || len(text)-i < htmlLink || bytes.ContainsAny(text[i:i+htmlLink], "]\n") {
			return -1
		}
		return 1
	}, converter.PriorityEarly-100)
	return program.EachInput(p, args, func(_ string, r io.Reader) error {
		text, err := p.ReadAll(io.LimitReader(r, htmlMax+1))
		if err != nil {
			return err
		}
		if len(text) > htmlMax {
			return errHTMLSize
		}
		p.Hold(htmlFactor * len(text))
		defer p.Release(htmlFactor * len(text))
		out, err := c.ConvertReader(ticking{bytes.NewReader(text), p}, converter.WithContext(ctx),
			converter.WithDomain(domain))
		if err != nil {
			return err
		}
		if len(out) > 0 {
			p.Out.Write(append(out, '\n'))
		}
		return nil
	})
}

// htmlSpans bounds the cells that a document's colspan and rowspan stand for.
const htmlSpans = 100_000

// boundSpans takes the spans of a table's cells away when the document's have become too many: each is written as so
// many cells.
func boundSpans(table *html.Node, spans *int) {
	for n := range table.Descendants() {
		cells := 1
		for _, a := range n.Attr {
			if a.Key == "colspan" || a.Key == "rowspan" {
				v, err := strconv.Atoi(a.Val)
				if err != nil || v > htmlSpans {
					v = htmlSpans
				}
				cells *= max(v, 1)
			}
		}
		if *spans += cells; cells > 1 && *spans > htmlSpans {
			n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "colspan" || a.Key == "rowspan" })
		}
	}
}

// ticking lets a long parse be ended.
type ticking struct {
	io.Reader
	p *proc.Process
}

func (t ticking) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	t.p.Tick(1 + n>>4)
	return n, err
}
