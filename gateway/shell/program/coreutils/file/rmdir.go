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

var rmdirSpec = getopt.New("pv", "ignore-fail-on-non-empty parents=p path=p verbose=v").
	WithUsage("[OPTION]... DIRECTORY...", "Remove the DIRECTORY(ies), if they are empty.")

func rmdir(_ context.Context, p *proc.Process) int {
	opts, args := rmdirSpec.Parse(p)
	var parents, verbose, ignore bool
	for _, o := range opts {
		switch o.Key {
		case "p":
			parents = true
		case "v":
			verbose = true
		case "ignore-fail-on-non-empty":
			ignore = true
		}
	}
	if len(args) == 0 {
		rmdirSpec.Fail(p, "missing operand")
	}
	status := 0
	for _, dir := range args {
		d, what := program.TrimSlashes(dir), "failed to remove %s: %s"
		if !parents {
			d = dir
		}
		for {
			if verbose {
				fmt.Fprintf(p.Out, "%s: removing directory, %s\n", p.Name(), program.QuoteName(d))
			}
			if err := removeEmpty(p, d); err != nil {
				if !ignore || !errors.Is(err, vfs.ENOTEMPTY) {
					p.Errorf(what, program.QuoteName(d), proc.Strerror(err))
					status = 1
				}
				break
			}
			up := program.DirName(d)
			if !parents || up == "." || up == "/" || up == d {
				break
			}
			d, what = up, "failed to remove directory %s: %s"
		}
	}
	return status
}

func removeEmpty(p *proc.Process, dir string) error {
	if dir == "" {
		return vfs.ENOENT
	}
	err := p.FS.Rmdir(p.Abs(dir))
	if errors.Is(err, vfs.ENOTDIR) && strings.HasSuffix(dir, "/") {
		if st, e := p.Stat(dir); e == nil && st.IsDir() {
			return errLinkNotFollowed
		}
	}
	return err
}

// errLinkNotFollowed is of a link with a slash behind it, which names what it leads to.
var errLinkNotFollowed = errors.New("Symbolic link not followed")
