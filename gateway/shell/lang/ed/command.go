package ed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// command runs one line. warned says that the line before it was told that the buffer is modified.
func (e *Editor) command(line string, warned bool) error {
	e.cmd, e.printing = line, ""
	if err := e.readRange(); err != nil {
		return err
	}
	if e.cmd == "" {
		n, err := e.next()
		if err != nil {
			return err
		}
		return e.print(n, n, "p")
	}
	c := e.cmd[0]
	e.cmd = e.cmd[1:]
	if err := e.verb(c, warned); err != nil {
		return err
	}
	if e.printing != "" && !e.done {
		return e.print(e.cur, e.cur, e.printing)
	}
	return nil
}

func (e *Editor) verb(c byte, warned bool) error {
	switch c {
	case 'a', 'i', 'c':
		return e.add(c)
	case 'd':
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
		if err := e.suffix(); err != nil {
			return err
		}
		e.save()
		e.yankLines()
		e.remove(e.first, e.second)
	case 'e', 'E':
		return e.edit(c, warned)
	case 'f':
		if e.addresses > 0 {
			return errNoAddress
		}
		name, err := e.fileName()
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, "!") {
			return failure("Invalid redirection")
		}
		if name != "" {
			e.name = name
		}
		if e.name == "" {
			return errNoName
		}
		e.p.Out.WriteString(e.name + "\n")
	case 'g', 'v', 'G', 'V':
		return e.globally(c)
	case 'h', 'H', 'P':
		if e.addresses > 0 {
			return errNoAddress
		}
		if err := e.suffix(); err != nil {
			return err
		}
		switch {
		case c == 'P':
			e.ShowPrompt = !e.ShowPrompt
		case c == 'H':
			e.help = !e.help
			if e.help && e.message != "" {
				e.p.Out.WriteString(e.message + "\n")
			}
		case e.message != "":
			e.p.Out.WriteString(e.message + "\n")
		}
	case 'j':
		if err := e.need(e.cur, e.cur+1); err != nil {
			return err
		}
		if err := e.suffix(); err != nil {
			return err
		}
		if e.first < e.second {
			e.save()
			var b strings.Builder
			for _, l := range e.lines[e.first : e.second+1] {
				b.WriteString(l.text)
			}
			at := e.first
			e.remove(e.first, e.second)
			e.insert(at-1, []string{b.String()})
		}
	case 'k':
		if e.second < 1 {
			return errBadAddress
		}
		if e.cmd == "" {
			return errBadSuffix
		}
		if e.cmd[0] < 'a' || e.cmd[0] > 'z' {
			return failure("Invalid mark character")
		}
		mark := e.cmd[0]
		e.cmd = e.cmd[1:]
		if err := e.suffix(); err != nil {
			return err
		}
		e.marks[mark] = e.lines[e.second]
	case 'l', 'n', 'p':
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
		e.printing = string(c)
		if err := e.suffix(); err != nil {
			return err
		}
		how := e.printing
		e.printing = ""
		return e.print(e.first, e.second, how)
	case 'm', 't':
		return e.moveOrCopy(c)
	case 'q', 'Q':
		if e.addresses > 0 {
			return errNoAddress
		}
		if err := e.suffix(); err != nil {
			return err
		}
		if c == 'q' && e.modified && !warned {
			e.warned = true
			return errModified
		}
		e.done = true
	case 'r':
		at := e.second
		if e.addresses == 0 {
			at = e.size()
		}
		name, err := e.fileName()
		if err != nil {
			return err
		}
		e.save()
		if cmd, ok := strings.CutPrefix(name, "!"); ok {
			return e.readShell(cmd, at)
		}
		if name == "" {
			name = e.name
		} else if e.name == "" {
			e.name = name
		}
		if name == "" {
			return errNoName
		}
		_, err = e.read(name, at)
		return err
	case 's':
		return e.substitute()
	case 'u':
		if e.addresses > 0 {
			return errNoAddress
		}
		if err := e.suffix(); err != nil {
			return err
		}
		if !e.hasUndo {
			return errNothingUndo
		}
		e.lines, e.undo = e.undo, e.lines
		e.cur, e.undoCur = e.undoCur, e.cur
		e.modified, e.undoMod = e.undoMod, e.modified
	case 'w', 'W':
		return e.write(c, warned)
	case 'x':
		at := e.second
		if err := e.suffix(); err != nil {
			return err
		}
		if len(e.yank) == 0 {
			return failure("Nothing to put")
		}
		e.save()
		e.insert(at, e.yank)
	case 'y':
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
		if err := e.suffix(); err != nil {
			return err
		}
		e.yankLines()
	case 'z':
		return e.scroll()
	case '=':
		n := e.second
		if e.addresses == 0 {
			n = e.size()
		}
		if err := e.suffix(); err != nil {
			return err
		}
		how := e.printing
		e.printing = ""
		fmt.Fprintf(e.p.Out, "%d\n", n)
		if how != "" && n > 0 {
			return e.print(n, n, how)
		}
	case '!':
		return e.shell()
	case '#':
	default:
		return errUnknown
	}
	return nil
}

func (e *Editor) yankLines() {
	e.yank = nil
	for _, l := range e.lines[e.first : e.second+1] {
		e.yank = append(e.yank, l.text)
	}
}

func (e *Editor) add(c byte) error {
	at := e.second
	if c == 'c' {
		if e.addresses > 0 && e.first == 0 {
			e.first = 1
			e.second = max(e.second, 1)
		}
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
	}
	if err := e.suffix(); err != nil {
		return err
	}
	e.save()
	if c == 'i' && at > 0 {
		at--
	}
	if c == 'c' {
		e.yankLines()
		at = e.first - 1
		e.remove(e.first, e.second)
	}
	lines := e.text()
	e.insert(at, lines)
	if len(lines) == 0 && c != 'c' {
		e.cur = max(at, min(e.second, e.size()))
	} else if len(lines) == 0 {
		e.cur = min(at+1, e.size())
	}
	return nil
}

func (e *Editor) moveOrCopy(c byte) error {
	if err := e.need(e.cur, e.cur); err != nil {
		return err
	}
	first, second := e.first, e.second
	e.cmd = strings.TrimLeft(e.cmd, " \t")
	to, ok, err := e.address()
	if err != nil {
		return err
	}
	if !ok {
		to = e.cur
	}
	if c == 'm' && to >= first && to < second {
		return errBadDest
	}
	if err := e.suffix(); err != nil {
		return err
	}
	e.save()
	block := slices.Clone(e.lines[first : second+1])
	if c == 't' {
		texts := make([]string, len(block))
		for i, l := range block {
			texts[i] = l.text
		}
		e.insert(to, texts)
		return nil
	}
	if to == second {
		to -= len(block)
	} else if to > second {
		to -= len(block)
	}
	rest := slices.Delete(slices.Clone(e.lines), first, second+1)
	e.lines = slices.Insert(rest, to+1, block...)
	e.cur, e.modified = to+len(block), true
	return nil
}

// next is the line that is meant, without an address the one after the current one; within g it is the current one
// itself.
func (e *Editor) next() (int, error) {
	n := e.second
	if e.addresses == 0 {
		n = e.cur + 1
		if e.inList {
			n = e.cur
		}
	}
	if n < 1 || n > e.size() {
		return 0, errBadAddress
	}
	return n, nil
}

func (e *Editor) scroll() error {
	n, err := e.next()
	if err != nil {
		return err
	}
	if d := digits(e.cmd); d > 0 {
		k, err := strconv.Atoi(e.cmd[:d])
		if err != nil || k < 1 {
			return failure("Invalid window size")
		}
		e.window, e.cmd = k, e.cmd[d:]
	}
	if err := e.suffix(); err != nil {
		return err
	}
	how := e.printing
	e.printing = ""
	return e.print(n, min(n+e.window-1, e.size()), how)
}
