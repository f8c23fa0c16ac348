package diffutils

import (
	"fmt"
	"strings"
)

func (o *diffOutput) newlines() {
	for _, f := range []*diffFile{o.a, o.b} {
		if f.noEOL {
			o.d.p.Errorf("%s: No newline at end of file\n", f.name)
			o.d.status = 2
		}
	}
}

func (o *diffOutput) ed() {
	out := o.d.p.Out
	for k := len(o.list) - 1; k >= 0; k-- {
		c := o.list[k]
		if o.ignored(c) {
			continue
		}
		out.WriteString(editRange(c.A, c.Del) + changeLetter(c) + "\n")
		if c.Ins == 0 {
			continue
		}
		input := true
		for i := range c.Ins {
			l := o.b.lines[c.B+i]
			if !input {
				out.WriteString("a\n")
				input = true
			}
			if len(l) == 1 && l[0] == '.' { // a lone dot would end the text
				out.WriteString("..\n.\ns/.//\n")
				input = false
				continue
			}
			out.Write(l)
			out.WriteByte('\n')
		}
		if input {
			out.WriteString(".\n")
		}
	}
	o.newlines()
}

func (o *diffOutput) forward() {
	out := o.d.p.Out
	for _, c := range o.list {
		if o.ignored(c) {
			continue
		}
		out.WriteString(changeLetter(c) + strings.ReplaceAll(editRange(c.A, c.Del), ",", " ") + "\n")
		if c.Ins == 0 {
			continue
		}
		for i := range c.Ins {
			out.Write(o.b.lines[c.B+i])
			out.WriteByte('\n')
		}
		out.WriteString(".\n")
	}
	o.newlines()
}

func (o *diffOutput) rcs() {
	out := o.d.p.Out
	for _, c := range o.list {
		if o.ignored(c) {
			continue
		}
		if c.Del > 0 {
			fmt.Fprintf(out, "d%d %d\n", c.A+1, c.Del)
		}
		if c.Ins == 0 {
			continue
		}
		fmt.Fprintf(out, "a%d %d\n", c.A+c.Del, c.Ins)
		for i := range c.Ins {
			out.Write(o.b.lines[c.B+i])
			if !o.b.noEOL || c.B+i < len(o.b.lines)-1 {
				out.WriteByte('\n')
			}
		}
	}
}
