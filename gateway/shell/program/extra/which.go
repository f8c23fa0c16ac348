package extra

import (
	"context"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// which is Debian's: its only option is -a.
func which(_ context.Context, p *proc.Process) int {
	args, all := p.Args[1:], false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for _, c := range a[1:] {
			switch c {
			case 'a':
				all = true
			default:
				p.Out.Flush()
				p.Err.WriteString("Illegal option -" + string(c) + "\n")
				p.Out.WriteString("Usage: /usr/bin/which [-a] args\n")
				return 2
			}
		}
	}
	if len(args) == 0 {
		return 1
	}
	status := 0
	path, ok := p.Env.Get("PATH")
	if !ok {
		path = proc.DefaultPath
	}
	for _, name := range args {
		found := false
		candidates := []string{name}
		if !strings.Contains(name, "/") {
			candidates = candidates[:0]
			for dir := range strings.SplitSeq(path, ":") {
				if dir == "" {
					dir = "."
				}
				candidates = append(candidates, program.JoinPath(dir, name))
			}
		}
		for _, c := range candidates {
			if st, err := p.Stat(c); err != nil || st.Kind != vfs.Regular || st.Mode&0o111 == 0 || name == "" {
				continue
			}
			found = true
			p.Out.WriteString(c + "\n")
			if !all {
				break
			}
		}
		if !found {
			status = 1
		}
	}
	return status
}
