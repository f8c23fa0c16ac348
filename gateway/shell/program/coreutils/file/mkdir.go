package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var mkdirSpec = getopt.New("pm:vZ", "mode:=m parents=p verbose=v context::").
	WithUsage("[OPTION]... DIRECTORY...", "Create the DIRECTORY(ies), if they do not already exist.")

func mkdir(_ context.Context, p *proc.Process) int {
	opts, args := mkdirSpec.Parse(p)
	var parents, verbose bool
	mode, modeSet := uint32(0o777)&^p.Umask, false
	for _, o := range opts {
		switch o.Key {
		case "context":
			if o.Has {
				p.Errorf("warning: ignoring --context; it requires an SELinux/SMACK-enabled kernel")
			}
		case "p":
			parents = true
		case "v":
			verbose = true
		case "m":
			m, ok := program.ParseMode(o.Value)
			if !ok {
				p.Errorf("invalid mode %s", program.Quote(o.Value))
				return 1
			}
			mode, modeSet = m.Apply(0o777, true, p.Umask), true
		}
	}
	if len(args) == 0 {
		mkdirSpec.Fail(p, "missing operand")
	}
	status := 0
	for _, dir := range args {
		if failed, err := makeDir(p, dir, mode, modeSet, parents, verbose); err != nil {
			p.Errorf("cannot create directory %s: %s", program.Quote(failed), proc.Strerror(err))
			status = 1
		}
	}
	return status
}

// makeDir makes dir, with parents also what leads to it, and returns the path that failed.
func makeDir(p *proc.Process, dir string, mode uint32, modeSet, parents, verbose bool) (string, error) {
	said := func(d string) {
		if verbose {
			fmt.Fprintf(p.Out, "%s: created directory %s\n", p.Name(), program.QuoteName(d))
		}
	}
	if dir == "" {
		return dir, vfs.ENOENT
	}
	if parents {
		// Parents are made one by one, writable and searchable for their owner.
		for i := 1; i < len(dir); i++ {
			if dir[i] != '/' || dir[i-1] == '/' || strings.Trim(dir[i:], "/") == "" {
				continue
			}
			parent := dir[:i]
			p.Tick(1 + i>>6) // each is looked up from the root
			err := p.FS.Mkdir(p.Abs(parent), 0o777&^p.Umask|0o300)
			switch {
			case err == nil:
				said(parent)
			case errors.Is(err, vfs.EEXIST) || errors.Is(err, vfs.EROFS):
				if !program.IsDir(p, parent) {
					if errors.Is(err, vfs.EROFS) {
						return dir, err
					}
					return parent, vfs.ENOTDIR
				}
			default:
				return parent, err
			}
		}
	}
	err := p.FS.Mkdir(p.Abs(dir), mode)
	if err == nil {
		said(dir)
		if modeSet {
			err = p.FS.Chmod(p.Abs(dir), mode)
		}
		return dir, err
	}
	if parents && program.IsDir(p, dir) {
		if modeSet {
			return dir, p.FS.Chmod(p.Abs(dir), mode)
		}
		return dir, nil
	}
	return dir, err
}
