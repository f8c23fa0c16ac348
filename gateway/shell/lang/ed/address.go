package ed

import (
	"slices"
	"strconv"
	"strings"
)

// address reads one address; ok is false if there is none.
func (e *Editor) address() (n int, ok bool, err error) {
	n = e.cur
	started := false
	for e.cmd != "" {
		e.p.Tick(1)
		switch c := e.cmd[0]; {
		case c == ' ' || c == '\t':
			e.cmd = e.cmd[1:]
			continue
		case c == '+' || c == '-' || c == '^':
			e.cmd = strings.TrimLeft(e.cmd[1:], " \t")
			k := 1
			if d := digits(e.cmd); d > 0 {
				if k, err = strconv.Atoi(e.cmd[:d]); err != nil {
					return 0, false, errBadAddress
				}
				e.cmd = e.cmd[d:]
			}
			if c == '+' {
				n += k
			} else {
				n -= k
			}
		case digits(e.cmd) > 0:
			d := digits(e.cmd)
			k, err := strconv.Atoi(e.cmd[:d])
			if err != nil {
				return 0, false, errBadAddress
			}
			e.cmd = e.cmd[d:]
			if started {
				n += k // as an offset
			} else {
				n = k
			}
		case started:
			if n < 0 || n > e.size() {
				return 0, false, errBadAddress
			}
			return n, true, nil
		case c == '.' || c == '$':
			e.cmd = e.cmd[1:]
			if c == '$' {
				n = e.size()
			}
		case c == '/' || c == '?':
			re, err := e.pattern(c)
			if err != nil {
				return 0, false, err
			}
			if n = e.search(re, c == '/'); n < 0 {
				return 0, false, errNoMatch
			}
			// The second delimiter may be missing at the end.
		case c == '\'':
			if len(e.cmd) < 2 {
				return 0, false, failure("Invalid mark character")
			}
			mark := e.marks[e.cmd[1]]
			if e.cmd[1] < 'a' || e.cmd[1] > 'z' {
				return 0, false, failure("Invalid mark character")
			}
			e.cmd = e.cmd[2:]
			if n = slices.Index(e.lines, mark); mark == nil || n < 1 {
				return 0, false, errBadAddress
			}
		default:
			return n, false, nil
		}
		started = true
	}
	if started && (n < 0 || n > e.size()) {
		return 0, false, errBadAddress
	}
	return n, started, nil
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// range reads the addresses before a command.
func (e *Editor) readRange() error {
	e.addresses = 0
	e.first, e.second = e.cur, e.cur
	saved := e.cur
	defer func() { e.cur = saved }()
	for {
		n, ok, err := e.address()
		if err != nil {
			return err
		}
		if ok {
			e.addresses++
			e.first, e.second = e.second, n
			if e.addresses == 1 {
				e.first = n
			}
		}
		e.cmd = strings.TrimLeft(e.cmd, " \t")
		if e.cmd == "" || strings.IndexByte(",;%", e.cmd[0]) < 0 {
			break
		}
		c := e.cmd[0]
		e.cmd = e.cmd[1:]
		if !ok && e.addresses == 0 {
			e.first, e.second = 1, e.size()
			if c == ';' {
				e.first = e.cur
			}
			if c == '%' || e.addresses == 0 {
				e.addresses = 2
			}
			if n, ok, err := e.address(); err != nil {
				return err
			} else if ok {
				e.second = n
				if c == ',' && e.addresses == 2 {
					e.first = 1
				}
			}
			if c == ';' {
				e.cur = e.second
			}
			continue
		}
		if c == ';' {
			e.cur = e.second
		}
		m, ok, err := e.address()
		if err != nil {
			return err
		}
		if !ok {
			m = e.second
		}
		e.first, e.second = e.second, m
		e.addresses = 2
		e.cmd = strings.TrimLeft(e.cmd, " \t")
	}
	return nil
}

// need sets the defaults of the addresses and checks them.
func (e *Editor) need(first, second int) error {
	if e.addresses == 0 {
		e.first, e.second = first, second
	}
	if e.first < 1 || e.first > e.second || e.second > e.size() {
		return errBadAddress
	}
	return nil
}
