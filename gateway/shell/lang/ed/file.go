package ed

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

func (e *Editor) read(name string, after int) (int, error) {
	data, err := e.p.ReadFile(name)
	if err != nil {
		e.p.Out.Flush()
		fmt.Fprintf(e.p.Err, "%s: %s\n", name, proc.Strerror(err))
		if st, serr := e.p.Stat(name); serr == nil && st.IsDir() {
			return 0, failure("Cannot read input file")
		}
		return 0, failure("Cannot open input file")
	}
	e.insertText(after, data)
	if !e.Quiet {
		fmt.Fprintf(e.p.Out, "%d\n", len(data)+missing(data))
	}
	return len(data), nil
}

// missing is the newline that ed adds to a last line without one.
func missing(data []byte) int {
	if len(data) > 0 && data[len(data)-1] != '\n' {
		return 1
	}
	return 0
}

func (e *Editor) readShell(command string, after int) error {
	if e.Restricted {
		return failure("Shell access restricted")
	}
	out := proc.NewBuffer(e.p)
	e.p.Exec(e.ctx, e.p.Shell(command, strings.NewReader(""), out))
	e.insertText(after, out.Bytes())
	if !e.Quiet {
		fmt.Fprintf(e.p.Out, "%d\n", out.Len()+missing(out.Bytes()))
	}
	return nil
}

// fileName reads the name after a command.
func (e *Editor) fileName() (string, error) {
	if e.cmd != "" && e.cmd[0] != ' ' && e.cmd[0] != '\t' {
		return "", errUnexpected
	}
	name := strings.TrimLeft(e.cmd, " \t")
	e.cmd = ""
	if e.Restricted && (strings.HasPrefix(name, "!") || strings.Contains(name, "/") || name == "..") {
		if strings.HasPrefix(name, "!") {
			return "", failure("Shell access restricted")
		}
		return "", failure("Directory access restricted")
	}
	return strings.ReplaceAll(name, "\\!", "!"), nil
}

func (e *Editor) edit(c byte, warned bool) error {
	if e.addresses > 0 {
		return errNoAddress
	}
	if c == 'e' && e.modified && !warned {
		e.warned = true
		return errModified
	}
	name, err := e.fileName()
	if err != nil {
		return err
	}
	e.lines, e.cur = []*textLine{{}}, 0
	e.marks = map[byte]*textLine{}
	defer func() { e.modified, e.hasUndo = false, false }()
	if cmd, ok := strings.CutPrefix(name, "!"); ok {
		return e.readShell(cmd, 0)
	}
	if name != "" {
		e.name = name
	}
	if e.name == "" {
		return errNoName
	}
	_, err = e.read(e.name, 0)
	return err
}

func (e *Editor) write(c byte, warned bool) error {
	quit := false
	if e.cmd != "" && (e.cmd[0] == 'q' || e.cmd[0] == 'Q') {
		quit = true
		e.cmd = e.cmd[1:]
	}
	name, err := e.fileName()
	if err != nil {
		return err
	}
	first, second := e.first, e.second
	if e.addresses == 0 {
		first, second = min(1, e.size()), e.size()
	}
	if first > second || second > e.size() {
		return errBadAddress
	}
	var b bytes.Buffer
	for _, l := range e.lines[max(first, 1) : second+1] {
		e.p.Tick(1)
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	e.p.Hold(b.Len())
	defer e.p.Release(b.Len())
	if cmd, ok := strings.CutPrefix(name, "!"); ok {
		if e.Restricted {
			return failure("Shell access restricted")
		}
		e.p.Exec(e.ctx, e.p.Shell(cmd, bytes.NewReader(b.Bytes()), nil))
	} else {
		if name == "" {
			name = e.name
		} else if e.name == "" {
			e.name = name
		}
		if name == "" {
			return errNoName
		}
		flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
		if c == 'W' {
			flag = vfs.WriteOnly | vfs.Create | vfs.Append
		}
		f, err := e.p.Open(name, flag, 0o666)
		if err == nil {
			_, err = f.Write(b.Bytes())
			_ = f.Close()
		}
		if err != nil {
			e.p.Out.Flush()
			fmt.Fprintf(e.p.Err, "%s: %s\n", name, proc.Strerror(err))
			return failure("Cannot open output file")
		}
		if e.addresses == 0 || first <= 1 && second == e.size() {
			e.modified = false
		}
	}
	if !e.Quiet {
		fmt.Fprintf(e.p.Out, "%d\n", b.Len())
	}
	if quit {
		if e.modified && !warned {
			e.warned = true
			return errModified
		}
		e.done = true
	}
	return nil
}

func (e *Editor) shell() error {
	if e.addresses > 0 {
		return errNoAddress
	}
	if e.Restricted {
		return failure("Shell access restricted")
	}
	cmd := e.cmd
	again := strings.HasPrefix(cmd, "!")
	if again {
		if e.shellLast == "" {
			return failure("No previous command")
		}
		cmd = e.shellLast + cmd[1:]
	}
	var b strings.Builder
	replaced := again
	for i := 0; i < len(cmd); i++ {
		switch {
		case cmd[i] == '\\' && i+1 < len(cmd) && cmd[i+1] == '%':
			i++
			b.WriteByte('%')
		case cmd[i] == '%':
			if e.name == "" {
				return errNoName
			}
			b.WriteString(e.name)
			replaced = true
		default:
			b.WriteByte(cmd[i])
		}
	}
	e.cmd, e.shellLast = "", b.String()
	if replaced {
		e.p.Out.WriteString(e.shellLast + "\n")
	}
	e.p.Exec(e.ctx, e.p.Shell(e.shellLast, strings.NewReader(""), nil))
	if !e.Quiet {
		e.p.Out.WriteString("!\n")
	}
	return nil
}
