package command

import (
	"errors"
	"io"
	"path"
	"strings"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// joinPath appends a name to a directory as the user wrote it.
func joinPath(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

func trimSlashes(name string) string {
	if t := strings.TrimRight(name, "/"); t != "" || name == "" {
		return t
	}
	return "/"
}

// isDir reports whether name is, or points to, a directory.
func isDir(p *proc.Process, name string) bool {
	st, err := p.Stat(name)
	return err == nil && st.IsDir()
}

// canonMode says what canonical accepts.
type canonMode uint8

const (
	canonExisting canonMode = iota // every component must exist
	canonAllButLast
	canonMissing // components may be missing
)

// canonical resolves name like canonicalize_filename_mode of gnulib: symlinks, "." and
// ".." are gone from the result. With logical ".." is removed before symlinks are followed, with
// physical=false symlinks stay.
func canonical(p *proc.Process, name string, mode canonMode, logical, keepLinks bool) (string, error) {
	if name == "" {
		return "", fserr.ENOENT
	}
	full := p.Abs(name)
	if logical {
		full = cleanKeepSlash(full)
	}
	var done []string
	rest := strings.Split(full, "/")
	mustDir := strings.HasSuffix(full, "/") || strings.HasSuffix(full, "/.")
	hops := 0
	for len(rest) > 0 {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			if len(done) > 0 {
				done = done[:len(done)-1]
			}
			continue
		}
		p.Tick(1)
		at := "/" + strings.Join(append(done[:len(done):len(done)], c), "/")
		last := lastComponent(rest)
		st, err := p.FS.Lstat(at)
		switch {
		case err != nil:
			if mode == canonMissing && !errors.Is(err, fserr.ENAMETOOLONG) {
				done = append(done, c)
				continue
			}
			if mode == canonAllButLast && last && errors.Is(err, fserr.ENOENT) {
				done = append(done, c)
				continue
			}
			return "", err
		case st.Kind == proc.Symlink && !keepLinks:
			if hops++; hops > 40 {
				if mode == canonMissing {
					done = append(done, c)
					continue
				}
				return "", fserr.ELOOP
			}
			target, err := p.FS.Readlink(at)
			if err != nil {
				return "", err
			}
			if strings.HasPrefix(target, "/") {
				done = done[:0]
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		case st.Kind != proc.Dir && (!last || (mustDir && allEmpty(rest))) && mode != canonMissing:
			if st.Kind == proc.Symlink {
				if f, err := p.FS.Stat(at); err == nil && f.IsDir() {
					break
				}
			}
			return "", fserr.ENOTDIR
		}
		done = append(done, c)
	}
	return "/" + strings.Join(done, "/"), nil
}

func lastComponent(rest []string) bool { return allEmpty(rest) }

func allEmpty(rest []string) bool {
	for _, c := range rest {
		if c != "" && c != "." {
			return false
		}
	}
	return true
}

func cleanKeepSlash(name string) string {
	c := path.Clean(name)
	if strings.HasSuffix(name, "/") && c != "/" {
		return c + "/"
	}
	return c
}

// relativeTo is the path from directory base to target, both canonical.
func relativeTo(target, base string) string {
	if target == base {
		return "."
	}
	t, b := strings.Split(strings.Trim(target, "/"), "/"), strings.Split(strings.Trim(base, "/"), "/")
	if base == "/" {
		b = nil
	}
	if target == "/" {
		t = nil
	}
	i := 0
	for i < len(t) && i < len(b) && t[i] == b[i] {
		i++
	}
	var parts []string
	for range b[i:] {
		parts = append(parts, "..")
	}
	parts = append(parts, t[i:]...)
	return strings.Join(parts, "/")
}

// within reports whether path is dir or below it; both are canonical.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// confirm asks a question on stderr and reads the answer, one line of standard input.
func confirm(p *proc.Process, question string) bool {
	p.Out.Flush()
	p.Err.WriteString(p.Name() + ": " + question)
	var first byte
	var b [1]byte
	for n := 0; ; n++ {
		k, err := p.Stdin.Read(b[:])
		if k > 0 {
			if b[0] == '\n' {
				break
			}
			if n == 0 {
				first = b[0]
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return false
			}
			break
		}
		p.Tick(1)
	}
	return first == 'y' || first == 'Y'
}
