package file

import (
	"context"
	"errors"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var mktempSpec = getopt.New("dp:qtuV", "directory=d quiet=q dry-run=u suffix: tmpdir::").
	WithUsage("[OPTION]... [TEMPLATE]", "Create a temporary file or directory, safely, and print its name.")

func mktemp(_ context.Context, p *proc.Process) int {
	opts, args := mktempSpec.Parse(p)
	var dir, quiet, dry, inTmp, oldTmp, hasSuffix bool
	var tmp, suffix string
	for _, o := range opts {
		switch o.Key {
		case "d":
			dir = true
		case "p", "tmpdir":
			inTmp, tmp = true, o.Value
		case "q":
			quiet = true
		case "t":
			inTmp, oldTmp = true, true
		case "u":
			dry = true
		case "suffix":
			suffix, hasSuffix = o.Value, true
		}
	}
	if len(args) > 1 {
		mktempSpec.Fail(p, "too many templates")
	}
	template := "tmp.XXXXXXXXXX"
	if len(args) == 1 {
		template = args[0]
	} else {
		inTmp = true
	}
	if hasSuffix {
		if !strings.HasSuffix(template, "X") {
			p.Errorf("with --suffix, template %s must end in X", program.Quote(template))
			return 1
		}
	} else {
		end := strings.LastIndexByte(template, 'X') + 1
		if end == 0 {
			p.Errorf("too few X's in template %s", program.Quote(template))
			return 1
		}
		template, suffix = template[:end], template[end:]
	}
	if strings.Contains(suffix, "/") {
		p.Errorf("invalid suffix %s, contains directory separator", program.Quote(suffix))
		return 1
	}
	stem := strings.TrimRight(template, "X")
	xs := len(template) - len(stem)
	if xs < 3 {
		p.Errorf("too few X's in template %s", program.Quote(template+suffix))
		return 1
	}
	if inTmp {
		if oldTmp {
			if env := p.Getenv("TMPDIR"); env != "" {
				tmp = env
			}
			if strings.Contains(template, "/") {
				p.Errorf("invalid template, %s, contains directory separator", program.Quote(template+suffix))
				return 1
			}
		} else {
			if tmp == "" {
				tmp = p.Getenv("TMPDIR")
			}
			if strings.HasPrefix(template, "/") {
				p.Errorf("invalid template, %s; with --tmpdir, it may not be absolute", program.Quote(template+suffix))
				return 1
			}
		}
		if tmp == "" {
			tmp = "/tmp"
		}
		stem = program.JoinPath(tmp, stem)
	}
	kind := "file"
	if dir {
		kind = "directory"
	}
	for range 100 {
		name := stem + program.RandomName(xs) + suffix
		var err error
		switch {
		case dry:
			if _, err = p.Lstat(name); err == nil {
				continue
			}
			err = nil
		case dir:
			err = p.FS.Mkdir(p.Abs(name), 0o700)
		default:
			var f vfs.File
			if f, err = p.Open(name, vfs.ReadWrite|vfs.Create|vfs.Excl, 0o600); err == nil {
				err = f.Close()
			}
		}
		if errors.Is(err, vfs.EEXIST) {
			continue
		}
		if err != nil {
			if !quiet {
				p.Errorf("failed to create %s via template %s: %s", kind, program.Quote(stem+strings.Repeat("X", xs)+suffix),
					proc.Strerror(err))
			}
			return 1
		}
		p.Out.WriteString(name + "\n")
		return 0
	}
	if !quiet {
		p.Errorf("failed to create %s via template %s: %s", kind, program.Quote(template+suffix), vfs.EEXIST)
	}
	return 1
}
