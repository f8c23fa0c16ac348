package file

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var touchSpec = getopt.New("acd:fhmr:t:", "time: no-create=c date:=d reference:=r no-dereference=h").
	WithUsage("[OPTION]... FILE...", "Update the access and modification times of each FILE to the current time.")

func touch(_ context.Context, p *proc.Process) int {
	opts, args := touchSpec.Parse(p)
	now := program.LocalNow(p)
	stamp, date, ref := "", "", ""
	var noCreate, noFollow, accessOnly, modifyOnly, hasStamp, hasDate, hasRef bool
	for _, o := range opts {
		switch o.Key {
		case "a":
			accessOnly = true
		case "c":
			noCreate = true
		case "d":
			date, hasDate = o.Value, true
		case "h":
			noFollow = true
		case "m":
			modifyOnly = true
		case "r":
			ref, hasRef = o.Value, true
		case "t":
			stamp, hasStamp = o.Value, true
		case "time":
			switch program.Choose(p, touchSpec, "time", o.Value, "atime access use", "mtime modify") {
			case "atime":
				accessOnly = true
			default:
				modifyOnly = true
			}
		}
	}
	if hasStamp && (hasDate || hasRef) {
		touchSpec.Fail(p, "cannot specify times from more than one source")
	}
	when := now
	if hasRef {
		stat := p.Stat
		if noFollow {
			stat = p.Lstat
		}
		st, err := stat(ref)
		if err != nil {
			p.Errorf("failed to get attributes of %s: %s", program.QuoteName(ref), proc.Strerror(err))
			return 1
		}
		when = time.Unix(0, st.Mtime).In(now.Location())
	}
	var err error
	switch {
	case hasDate:
		if when, err = datetime.Parse(date, when); err != nil {
			p.Errorf("invalid date format %s", program.Quote(date))
			return 1
		}
	case hasStamp:
		if when, err = datetime.ParseStamp(stamp, now); err != nil {
			p.Errorf("invalid date format %s", program.Quote(stamp))
			return 1
		}
	}
	if len(args) == 0 {
		touchSpec.Fail(p, "missing file operand")
	}
	status := 0
	for _, name := range args {
		// Access times are not kept: -a alone only creates.
		keepTime := accessOnly && !modifyOnly
		if err := touchFile(p, name, when.UnixNano(), noCreate, noFollow, keepTime); err != nil {
			what := "cannot touch"
			if errors.Is(err, vfs.ENOTDIR) && strings.HasSuffix(name, "/") || noFollow && errors.Is(err, vfs.ENOENT) {
				what = "setting times of"
			}
			p.Errorf("%s %s: %s", what, program.QuoteName(name), proc.Strerror(err))
			status = 1
		}
	}
	return status
}

func touchFile(p *proc.Process, name string, ns int64, noCreate, noFollow, keepTime bool) error {
	if name == "-" {
		return nil
	}
	if name == "" {
		return vfs.ENOENT
	}
	stat := p.Stat
	if noFollow {
		stat = p.Lstat
	}
	_, err := stat(name)
	if errors.Is(err, vfs.ENOENT) {
		if noCreate || noFollow {
			if noCreate {
				return nil
			}
			return err
		}
		f, cerr := p.Open(name, vfs.WriteOnly|vfs.Create, 0o666)
		if cerr != nil {
			if errors.Is(cerr, vfs.EISDIR) {
				return err
			}
			return cerr
		}
		err = f.Close()
	}
	if err != nil {
		if noCreate && errors.Is(err, vfs.ENOTDIR) && !strings.HasSuffix(name, "/") {
			return nil
		}
		return err
	}
	if keepTime {
		return nil
	}
	return p.FS.Utimes(p.Abs(name), ns, !noFollow)
}
