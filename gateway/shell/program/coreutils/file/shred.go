package file

import (
	"context"
	"crypto/rand"
	"io"
	"path"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var shredSpec = getopt.New("fn:s:uvxz",
	"exact=x force=f iterations:=n size:=s random-source: remove:: verbose=v zero=z").
	WithUsage("[OPTION]... FILE...",
		"Overwrite the specified FILE(s) repeatedly, in order to make it harder\nfor even very expensive hardware probing to recover the data.")

type shredRun struct {
	p                    *proc.Process
	force, exact, remove bool
	verbose, zero        bool
	passes, size         int64
	method               string
	source               io.Reader
}

func shred(_ context.Context, p *proc.Process) int {
	s := &shredRun{p: p, passes: 3, size: -1, method: "wipesync", source: rand.Reader}
	opts, args := shredSpec.Parse(p)
	for _, o := range opts {
		switch o.Key {
		case "f":
			s.force = true
		case "x":
			s.exact = true
		case "v":
			s.verbose = true
		case "z":
			s.zero = true
		case "u":
			s.remove = true
		case "remove":
			s.remove = true
			if o.Has {
				s.method = program.Choose(p, shredSpec, "remove", o.Value, "unlink", "wipe", "wipesync")
			}
		case "n":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK {
				p.Errorf("invalid number of passes: %s", program.Quote(o.Value))
				return 1
			}
			s.passes = n
		case "s":
			n, problem := program.ParseCount(o.Value, "cbBkKMGTPEZY0")
			if problem != program.NumberOK {
				p.Errorf("invalid file size: %s", program.Quote(o.Value))
				return 1
			}
			s.size = n
		case "random-source":
			f, err := p.Open(o.Value, vfs.ReadOnly, 0)
			if err != nil {
				p.Errorf("%s: %s", program.QuoteColon(o.Value), proc.Strerror(err))
				return 1
			}
			defer f.Close()
			s.source = f
		}
	}
	if len(args) == 0 {
		shredSpec.Fail(p, "missing file operand")
	}
	status := 0
	for _, name := range args {
		if !s.file(name) {
			status = 1
		}
	}
	return status
}

func (s *shredRun) file(name string) bool {
	if name == "-" {
		s.p.Errorf("-: invalid file type")
		return false
	}
	f, err := s.p.Open(name, vfs.WriteOnly, 0)
	if err != nil && s.force {
		if s.p.FS.Chmod(s.p.Abs(name), 0o200) == nil {
			f, err = s.p.Open(name, vfs.WriteOnly, 0)
		}
	}
	if err != nil {
		s.p.Errorf("%s: failed to open for writing: %s", program.QuoteColon(name), proc.Strerror(err))
		return false
	}
	ok := s.overwrite(f, name)
	_ = f.Close()
	if ok && s.remove {
		ok = s.unlink(name)
	}
	return ok
}

func (s *shredRun) overwrite(f vfs.File, name string) bool {
	st, err := f.Stat()
	if err != nil {
		s.p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
		return false
	}
	size := s.size
	if size < 0 {
		size = st.Size
		if !s.exact && st.Kind == vfs.Regular {
			size = (size + 4095) / 4096 * 4096
		}
	}
	total := s.passes
	if s.zero {
		total++
	}
	buf := make([]byte, 64<<10)
	for pass := int64(1); pass <= total; pass++ {
		last := s.zero && pass == total
		if s.verbose {
			what := "random"
			if last {
				what = "000000"
			}
			s.p.Errorf("%s: pass %d/%d (%s)...", program.QuoteColon(name), pass, total, what)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			s.p.Errorf("%s: cannot rewind: %s", program.QuoteColon(name), proc.Strerror(err))
			return false
		}
		for left := size; left > 0; {
			b := buf[:min(int64(len(buf)), left)]
			s.p.Tick(64)
			if last {
				clear(b)
			} else if _, err := io.ReadFull(s.source, b); err != nil {
				s.p.Errorf("%s: end of file", "random source")
				return false
			}
			if _, err := f.Write(b); err != nil {
				s.p.Errorf("%s: error writing: %s", program.QuoteColon(name), proc.Strerror(err))
				return false
			}
			left -= int64(len(b))
		}
	}
	return true
}

// unlink renames the file to ever shorter names of zeros first.
func (s *shredRun) unlink(name string) bool {
	if s.verbose {
		s.p.Errorf("%s: removing", program.QuoteColon(name))
	}
	at := s.p.Abs(name)
	shown := name
	if s.method != "unlink" {
		dir := path.Dir(at)
		for n := len(path.Base(at)); n > 0; n-- {
			to := program.JoinPath(dir, strings.Repeat("0", n))
			if _, err := s.p.FS.Lstat(to); err == nil {
				continue
			}
			if err := s.p.FS.Rename(at, to); err != nil {
				break
			}
			if s.verbose {
				next := program.JoinPath(path.Dir(name), strings.Repeat("0", n))
				next = strings.TrimPrefix(next, "./")
				s.p.Errorf("%s: renamed to %s", program.QuoteColon(shown), program.QuoteColon(next))
				shown = next
			}
			at = to
		}
	}
	if err := s.p.FS.Unlink(at); err != nil {
		s.p.Errorf("%s: failed to remove: %s", program.QuoteColon(name), proc.Strerror(err))
		return false
	}
	if s.verbose {
		s.p.Errorf("%s: removed", program.QuoteColon(name))
	}
	return true
}
