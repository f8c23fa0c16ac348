package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (c *compiler) redirect(r *syntax.Redirect) *redirect {
	out := &redirect{fd: -1, op: r.Op, line: c.line(r.Pos())}
	if r.N != nil {
		v := r.N.Value
		if strings.HasPrefix(v, "{") {
			out.varName = strings.Trim(v, "{}")
			if n, sub, ok := strings.Cut(out.varName, "["); ok {
				out.varName, out.varSub = n, strings.TrimSuffix(sub, "]")
			}
		} else {
			n := 0
			for i := 0; i < len(v) && n < 1<<20; i++ {
				n = n*10 + int(v[i]-'0')
			}
			out.fd = n
		}
	}
	out.word = c.word(r.Word)
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		out.strip = r.Op == syntax.DashHdoc
		for _, p := range r.Word.Parts {
			l, ok := p.(*syntax.Lit)
			if !ok || strings.Contains(l.Value, `\`) {
				out.quoted = true
			}
		}
		out.heredoc = &word{}
		if r.Hdoc != nil && out.quoted && slices.ContainsFunc(r.Hdoc.Parts,
			func(p syntax.WordPart) bool { _, lit := p.(*syntax.Lit); return !lit }) {
			// A partly quoted delimiter is a quoted one, whatever the parser made of the body.
			delim, _ := literal(c.parts(r.Word.Parts, false))
			body := strings.TrimSuffix(c.text(r.Hdoc.Pos().Offset(), r.Hdoc.End().Offset()), delim)
			if out.strip {
				body = stripTabs(body, true)
			}
			out.heredoc.parts = []part{c.quoted(body)}
		} else if r.Hdoc != nil {
			out.heredoc.parts = c.heredoc(r.Hdoc.Parts, out.quoted, out.strip)
			body := strings.TrimSuffix(c.raw(r.Hdoc.Pos().Offset(), r.Hdoc.End().Offset()),
				unquoteDelim(c.raw(r.Word.Pos().Offset(), r.Word.End().Offset())))
			if out.strip {
				body = stripTabs(body, true)
			}
			out.heredoc.src = body
		}
	}
	return out
}

func (c *compiler) heredoc(parts []syntax.WordPart, quoted, strip bool) []part {
	var out []part
	bol := true
	for _, p := range parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			if x, ok := p.(*syntax.CmdSubst); ok && x.Backquotes {
				out = append(out, c.cmdSubst(x, false)) // as outside of quotes, \" stays
			} else {
				out = append(out, c.part(p, true)...)
			}
			bol = false
			continue
		}
		v := l.Value
		if strip {
			v = stripTabs(v, bol)
		}
		if !quoted {
			v = unescape(v, "$`\\")
		}
		out = append(out, c.quoted(v))
		bol = strings.HasSuffix(l.Value, "\n")
	}
	return out
}

func stripTabs(s string, bol bool) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if bol && s[i] == '\t' {
			continue
		}
		bol = s[i] == '\n'
		b.WriteByte(s[i])
	}
	return b.String()
}
