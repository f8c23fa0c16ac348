package extra

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var envsubstSpec = getopt.New("hvV", "variables=v").
	WithUsage("[OPTION] [SHELL-FORMAT]", "\nSubstitutes the values of environment variables.").
	WithVersion("(compatible with GNU gettext-runtime) 0.21")

// variable recognises $NAME or ${NAME} at the start of b, and returns how long it is.
func variable(b []byte) (name string, n int) {
	if len(b) < 2 || b[0] != '$' {
		return "", 0
	}
	i := 1
	if b[1] == '{' {
		i = 2
	}
	j := i
	for j < len(b) && (b[j] == '_' || b[j] >= 'a' && b[j] <= 'z' || b[j] >= 'A' && b[j] <= 'Z' ||
		j > i && program.IsDigit(b[j])) {
		j++
	}
	if j == i {
		return "", 0
	}
	if i == 2 {
		if j == len(b) || b[j] != '}' {
			return "", 0
		}
		return string(b[i:j]), j + 1
	}
	return string(b[i:j]), j
}

// eachVariable calls f for the variables of text, text for what is between them.
func eachVariable(b []byte, f func(name string, whole []byte), text func([]byte)) {
	from := 0
	for i := 0; i < len(b); {
		at := bytes.IndexByte(b[i:], '$')
		if at < 0 {
			break
		}
		i += at
		name, n := variable(b[i:])
		if n == 0 {
			i++
			continue
		}
		text(b[from:i])
		f(name, b[i:i+n])
		i += n
		from = i
	}
	text(b[from:])
}

func envsubst(_ context.Context, p *proc.Process) int {
	list := false
	opts, args := envsubstSpec.Parse(p)
	for _, o := range opts {
		switch o.Key {
		case "v":
			list = true
		case "V":
			p.Out.WriteString("envsubst (compatible with GNU gettext-runtime) 0.21\n")
			return 0
		case "h":
			p.Out.WriteString("Usage: envsubst [OPTION] [SHELL-FORMAT]\n\nSubstitutes the values of environment variables.\n")
			return 0
		}
	}
	if len(args) > 1 {
		p.Errorf("too many arguments")
		return 1
	}
	if list {
		if len(args) == 0 {
			p.Errorf("missing arguments")
			return 1
		}
		eachVariable([]byte(args[0]), func(name string, _ []byte) { p.Out.WriteString(name + "\n") }, func([]byte) {})
		return 0
	}
	var only map[string]bool
	if len(args) == 1 {
		only = map[string]bool{}
		eachVariable([]byte(args[0]), func(name string, _ []byte) { only[name] = true }, func([]byte) {})
	}
	lines := program.NewLineReader(p, p.Stdin, '\n')
	defer lines.Close()
	for {
		l, ok := lines.Next()
		if !ok {
			break
		}
		eachVariable(l, func(name string, whole []byte) {
			if only != nil && !only[name] {
				p.Out.Write(whole)
				return
			}
			p.Out.WriteString(p.Getenv(name))
		}, func(b []byte) { p.Out.Write(b) })
	}
	if lines.Err != nil && !errors.Is(lines.Err, io.EOF) {
		p.Errorf("error while reading standard input: %s", proc.Strerror(lines.Err))
		return 1
	}
	return 0
}
