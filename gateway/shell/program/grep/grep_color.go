package grep

import (
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// grepColors are the styles of GREP_COLORS, as the parameters of the SGR sequence.
type grepColors struct {
	selected, inContext   string // ms, mc: matching text in selected and in context lines
	selectedLine, context string // sl, cx: the lines
	file, line, offset    string // fn, ln, bn
	separator             string // se
	reverse               bool   // rv: sl and cx change places with -v
	noErase               bool   // ne
}

func newGrepColors(p *proc.Process) grepColors {
	c := grepColors{selected: "01;31", inContext: "01;31", file: "35", line: "32", offset: "32", separator: "36"}
	if old := p.Getenv("GREP_COLOR"); old != "" && old != "mt=01;31" {
		p.Errorf("warning: GREP_COLOR='%s' is deprecated; use GREP_COLORS='mt=%s'", old, old)
		c.selected, c.inContext = old, old
	}
	for _, item := range strings.Split(p.Getenv("GREP_COLORS"), ":") {
		name, value, has := strings.Cut(item, "=")
		if strings.Trim(value, "0123456789;") != "" {
			break
		}
		switch name {
		case "ne":
			c.noErase = true
			continue
		case "rv":
			c.reverse = true
			continue
		}
		if !has {
			break
		}
		switch name {
		case "mt":
			c.selected, c.inContext = value, value
		case "ms":
			c.selected = value
		case "mc":
			c.inContext = value
		case "sl":
			c.selectedLine = value
		case "cx":
			c.context = value
		case "fn":
			c.file = value
		case "ln":
			c.line = value
		case "bn":
			c.offset = value
		case "se":
			c.separator = value
		}
	}
	return c
}

func (c *grepColors) begin(style string) string {
	if c.noErase {
		return "\x1b[" + style + "m"
	}
	return "\x1b[" + style + "m\x1b[K"
}

func (g *grepRun) paint(style, s string) {
	if !g.color || style == "" {
		g.p.Out.WriteString(s)
		return
	}
	g.p.Out.WriteString(g.colors.begin(style))
	g.p.Out.WriteString(s)
	g.p.Out.WriteString(g.colors.begin(""))
}
