package extra

import (
	"context"
	"errors"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const tempfileWarning = "WARNING: tempfile is deprecated; consider using mktemp instead.\n"

var tempfileSpec = getopt.New("d:m:n:p:s:",
	"directory:=d mode:=m name:=n prefix:=p suffix:=s").WithVersion("5.7").WithUsage("[OPTION]",
	"Create a temporary file in a safe manner.")

// tempfile makes a file with a new name, as mktemp does with other options.
func tempfile(_ context.Context, p *proc.Process) int {
	p.Err.WriteString(tempfileWarning)
	opts, _ := tempfileSpec.Parse(p)
	dir, mode, name, prefix, suffix := p.Getenv("TMPDIR"), uint64(0o600), "", "file", ""
	if !program.IsDir(p, dir) || dir == "" {
		dir = "/tmp"
	}
	for _, o := range opts {
		switch o.Key {
		case "d":
			if program.IsDir(p, o.Value) {
				dir = o.Value
			}
		case "m":
			n, err := strconv.ParseUint(o.Value, 8, 32)
			if err != nil || n > program.ModeAll {
				p.Errorf("Invalid mode '%s'.", o.Value)
				return 1
			}
			mode = n
		case "n":
			name = o.Value
		case "p":
			prefix = o.Value
		case "s":
			suffix = o.Value
		}
	}
	for attempt := 0; ; attempt++ {
		path := name
		if path == "" {
			path = program.JoinPath(dir, prefix[:min(len(prefix), 5)]+program.RandomName(6)+suffix)
		}
		f, err := p.Open(path, vfs.WriteOnly|vfs.Create|vfs.Excl, 0o600)
		if errors.Is(err, vfs.EEXIST) && name == "" && attempt < 100 {
			continue
		}
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			err = p.FS.Chmod(p.Abs(path), uint32(mode)&^p.Umask)
		}
		if err != nil {
			p.Errorf("%s", proc.Strerror(err))
			return 1
		}
		p.Out.WriteString(path + "\n")
		return 0
	}
}
