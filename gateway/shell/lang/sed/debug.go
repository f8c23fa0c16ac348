package sed

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// debugger writes what --debug shows: the program as it was understood, then each line and each command that it meets.
type debugger struct {
	out   io.Writer
	tick  func(n int)
	level int // of blocks
}

// printable appends text as --debug shows the characters of patterns and lines.
func printable(b []byte, text []byte) []byte {
	for _, c := range text {
		switch i := strings.IndexByte("\a\f\r\t\v\n\\", c); {
		case i >= 0:
			b = append(b, '\\', `afrtvn\`[i])
		case c >= ' ' && c < 127:
			b = append(b, c)
		default:
			// Bytes are signed where GNU sed runs.
			b = fmt.Appendf(b, `\o%03o`, uint32(int32(int8(c))))
		}
	}
	return b
}

func (d *debugger) program(g *Program) {
	d.level = 1
	d.writeString("SED PROGRAM:\n")
	for _, c := range g.cmds {
		d.command(c)
	}
	d.level = 0
}

func (d *debugger) writeString(s string) { _, _ = io.WriteString(d.out, s) }

func (d *debugger) space(name string, text []byte) {
	d.writeString(fmt.Sprintf("%-9s", name+":"))
	for part := range slices.Chunk(text, 1<<10) {
		d.tick(1)
		_, _ = d.out.Write(printable(nil, part))
	}
	d.writeString("\n")
}

func (d *debugger) registers(line []byte, loc []int) {
	d.writeString("MATCHED REGEX REGISTERS\n")
	for i := 0; i+1 < len(loc) && loc[i] >= 0; i += 2 {
		d.writeString(fmt.Sprintf("  regex[%d] = %d-%d '%s'\n", i/2, loc[i], loc[i+1], line[loc[i]:loc[i+1]]))
	}
}

func (d *debugger) command(c *command) {
	if c.name == '}' {
		d.level--
	}
	d.tick(1 + d.level)
	for range d.level {
		d.writeString("  ")
	}
	b := appendAddress(nil, &c.a1)
	if c.a2.kind != addrNone {
		b = appendAddress(append(b, ','), &c.a2)
	}
	if c.negate {
		b = append(b, '!')
	}
	if c.a1.kind != addrNone {
		b = append(b, ' ')
	}
	_, _ = d.out.Write(append(appendFunction(b, c), '\n'))
	if c.name == '{' {
		d.level++
	}
}

func appendAddress(b []byte, a *address) []byte {
	switch a.kind {
	case addrLine:
		b = strconv.AppendInt(b, a.n, 10)
	case addrStep:
		b = fmt.Appendf(b, "%d~%d", a.n, a.step)
	case addrLast:
		b = append(b, '$')
	case addrRegex:
		b = a.re.appendFlags(a.re.appendSource(b), "IM")
	case addrPlus:
		b = fmt.Appendf(b, "+%d", a.n)
	case addrMult:
		b = fmt.Appendf(b, "~%d", a.n)
	}
	return b
}

func (re *pattern) appendSource(b []byte) []byte {
	b = append(b, '/')
	for i, part := range strings.Split(re.src, "/") {
		if i > 0 {
			b = append(b, `\/`...)
		}
		b = printable(b, []byte(part))
	}
	return append(b, '/')
}

func (re *pattern) appendFlags(b []byte, letters string) []byte {
	if re.icase {
		b = append(b, letters[0])
	}
	if re.multi {
		b = append(b, letters[1])
	}
	return b
}

func appendFunction(b []byte, c *command) []byte {
	b = append(b, c.name)
	switch c.name {
	case ':':
		b = append(b, c.label...)
	case 'a', 'i', 'c':
		b = append(append(b, '\\'), c.text...)
	case 'b', 't', 'T':
		if c.label != "" {
			b = append(append(b, ' '), c.label...)
		}
	case 'e':
		b = append(append(b, ' '), c.label...)
		if c.label != "" {
			b = append(b, '\n')
		}
	case 'l', 'q', 'Q':
		if c.hasNum {
			b = fmt.Appendf(b, " %d", c.num)
		}
	case 'r', 'R':
		b = append(append(b, ' '), c.path...)
	case 'w', 'W':
		b = append(b, c.path...)
	case 's':
		b = c.sub.appendTo(b)
	case 'y':
		b = fmt.Appendf(b, "/%s/%s/", c.from, c.to)
	}
	return b
}

func (s *substitution) appendTo(b []byte) []byte {
	b = append(s.appendReplacement(s.re.appendSource(b)), '/')
	b = s.re.appendFlags(b, "im")
	for _, f := range []struct {
		letter byte
		set    bool
	}{{'g', s.global}, {'e', s.eval}, {'p', s.print > 0}} {
		if f.set {
			b = append(b, f.letter)
		}
	}
	if s.nth > 0 {
		b = strconv.AppendInt(b, int64(s.nth), 10)
	}
	if s.file != nil {
		b = append(append(b, 'w'), s.file.name...)
	}
	return b
}

// appendReplacement shows each change of case where the part begins that it applies to: GNU sed keeps it with the
// parts.
func (s *substitution) appendReplacement(b []byte) []byte {
	var all, once, shown, next byte // all: U, L; once: u, l; shown and next: what the part before and the next one have
	var text []byte
	put := func(end string) {
		if next != shown {
			shown = next
			b = append(b, '\\', max(next, 'E'))
		}
		b = append(append(b, text...), end...)
		text = nil
	}
	for _, p := range s.parts {
		switch {
		case p.conv != 0:
			put("")
			switch p.conv {
			case 'u', 'l':
				once = p.conv
			case 'E':
				all, once = 0, 0
			default:
				all, once = p.conv, 0
			}
		case p.group < 0:
			text = append(text, p.text...)
			continue
		case p.group == 0:
			put("&")
			once = 0
		default:
			put(fmt.Sprintf(`\%d`, p.group))
			once = 0
		}
		if next = all; once != 0 {
			next = once
		}
	}
	if len(text) > 0 {
		put("")
	}
	return b
}
