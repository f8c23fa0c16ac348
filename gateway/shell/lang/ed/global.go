package ed

import (
	"slices"
	"strings"
)

// globally is g and v, and G and V, which ask for a command at each line.
func (e *Editor) globally(c byte) error {
	if e.inList {
		return failure("Cannot nest global commands")
	}
	if e.addresses == 0 {
		e.first, e.second = min(1, e.size()), e.size()
	}
	if e.first > e.second || e.second > e.size() {
		return errBadAddress
	}
	if e.cmd == "" || e.cmd[0] == ' ' {
		return failure("Invalid pattern delimiter")
	}
	re, err := e.pattern(e.cmd[0])
	if err != nil {
		return err
	}
	marked := 0
	for n := max(e.first, 1); n <= e.second; n++ {
		e.p.Tick(1)
		l := e.lines[n]
		if l.marked = re.Match([]byte(l.text)) == (c == 'g' || c == 'G'); l.marked {
			marked++
		}
	}
	defer func() {
		for _, l := range e.lines {
			l.marked = false
		}
	}()
	var list []string
	if c == 'g' || c == 'v' {
		line := e.cmd
		for strings.HasSuffix(line, "\\") && !strings.HasSuffix(line, "\\\\") {
			list = append(list, strings.TrimSuffix(line, "\\"))
			next, ok := e.input()
			if !ok {
				break
			}
			line = next
		}
		list = append(list, line)
		if len(list) == 1 && strings.TrimSpace(list[0]) == "" {
			list[0] = "p"
		}
	} else {
		if err := e.suffix(); err != nil {
			return err
		}
	}
	if marked == 0 && (c == 'G' || c == 'V') {
		return nil
	}
	e.save()
	previous := ""
	for n := 1; n <= e.size(); {
		e.p.Tick(1)
		l := e.lines[n]
		if !l.marked {
			n++
			continue
		}
		l.marked = false
		e.cur = n
		commands := list
		if c == 'G' || c == 'V' {
			if err := e.print(n, n, e.printing+"p"); err != nil {
				return err
			}
			line, ok := e.input()
			if !ok {
				return failure("Unexpected end-of-file")
			}
			switch {
			case line == "":
				continue
			case line == "&":
				line = previous
			}
			previous = line
			commands = []string{line}
		}
		err := e.runList(commands)
		if err != nil || e.done {
			return err
		}
		// Lines may have come and gone before this one.
		if n <= e.size() && e.lines[n] == l {
			n++
		} else if k := slices.Index(e.lines, l); k < 0 {
			n = max(min(n, e.size()), 1)
			for n > 1 && e.lines[n-1].marked {
				n--
			}
		} else {
			n = 1
		}
	}
	e.printing = ""
	return nil
}

func (e *Editor) runList(list []string) error {
	e.inList, e.global = true, list
	defer func() { e.inList, e.global = false, nil }()
	for len(e.global) > 0 {
		line := e.global[0]
		e.global = e.global[1:]
		if err := e.command(line, false); err != nil || e.done {
			return err
		}
	}
	return nil
}
