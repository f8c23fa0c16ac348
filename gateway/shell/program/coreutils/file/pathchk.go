package file

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var pathchkSpec = getopt.New("+pP", "portability").WithUsage("[OPTION]... NAME...",
	"Diagnose invalid or unportable file names.")

// POSIX's smallest limits.
const (
	posixNameMax = 14
	posixPathMax = 255
	pathMax      = 4096
	nameMax      = 255
)

func pathchk(_ context.Context, p *proc.Process) int {
	opts, args := pathchkSpec.Parse(p)
	var basic, extra bool
	for _, o := range opts {
		switch o.Key {
		case "p":
			basic = true
		case "P":
			extra = true
		case "portability":
			basic, extra = true, true
		}
	}
	if len(args) == 0 {
		pathchkSpec.Fail(p, "missing operand")
	}
	status := 0
	for _, name := range args {
		if !checkPath(p, name, basic, extra) {
			status = 1
		}
	}
	return status
}

func checkPath(p *proc.Process, name string, basic, extra bool) bool {
	if extra {
		for part := range strings.SplitSeq(name, "/") {
			if strings.HasPrefix(part, "-") {
				p.Errorf("leading '-' in a component of file name %s", program.QuoteName(name))
				return false
			}
		}
	}
	if (basic || extra) && name == "" {
		p.Errorf("empty file name")
		return false
	}
	if basic {
		for i := range len(name) {
			if c := name[i]; c != '/' && c != '.' && c != '_' && c != '-' && !program.IsAlpha(c) && !program.IsDigit(c) {
				_, n := utf8.DecodeRuneInString(name[i:])
				p.Errorf("nonportable character %s in file name %s", program.Quote(name[i:i+n]), program.QuoteName(name))
				return false
			}
		}
	} else {
		_, err := p.Lstat(name)
		switch {
		case err == nil:
			return true
		case !errors.Is(err, vfs.ENOENT) || name == "":
			shown := program.QuoteColon(name)
			if name == "" {
				shown = "''"
			}
			p.Errorf("%s: %s", shown, proc.Strerror(err))
			return false
		}
	}
	limit := pathMax
	longest := nameMax
	if basic {
		limit, longest = posixPathMax+1, posixNameMax
	}
	if len(name) >= limit {
		p.Errorf("limit %d exceeded by length %d of file name %s", limit-1, len(name), program.QuoteName(name))
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > longest {
			p.Errorf("limit %d exceeded by length %d of file name component %s", longest, len(part), program.Quote(part))
			return false
		}
	}
	return true
}
