package program

import (
	"errors"
	"io"
	"path"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// JoinPath appends a name to a directory as the user wrote it.
func JoinPath(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// TrimSlashes removes trailing slashes, but for that of the root.
func TrimSlashes(name string) string {
	if t := strings.TrimRight(name, "/"); t != "" || name == "" {
		return t
	}
	return "/"
}

// IsDir reports whether name is, or points to, a directory.
func IsDir(p *proc.Process, name string) bool {
	st, err := p.Stat(name)
	return err == nil && st.IsDir()
}

// canonMode says what canonical accepts.
type canonMode uint8

const (
	CanonExisting canonMode = iota // every component must exist
	CanonAllButLast
	CanonMissing // components may be missing
)

// Canonical resolves name like canonicalize_filename_mode of gnulib: symlinks, "." and ".." are gone from the result.
// With logical ".." is removed before symlinks are followed, with keepLinks symlinks stay.
func Canonical(p *proc.Process, name string, mode canonMode, logical, keepLinks bool) (string, error) {
	if logical && !keepLinks {
		var err error
		if name, err = Canonical(p, name, mode, false, true); err != nil {
			return "", err
		}
	}
	if name == "" {
		return "", vfs.ENOENT
	}
	done, rest, hops := "", p.Abs(name), 0
	for {
		var c string
		if c, rest = nextComponent(rest); c == "" {
			break
		}
		switch c {
		case ".":
			continue
		case "..":
			done = done[:max(strings.LastIndexByte(done, '/'), 0)]
			continue
		}
		p.Tick(1)
		at := done + "/" + c
		if !keepLinks {
			if target, err := p.FS.Readlink(at); err == nil && hops <= 40 {
				hops++
				if strings.HasPrefix(target, "/") {
					done = ""
				}
				rest = target + rest
				continue
			} else if err == nil && mode != CanonMissing {
				return "", vfs.ELOOP
			}
		}
		if err := canonAccept(p, at, rest, mode, keepLinks); err != nil {
			return "", err
		}
		done = at
	}
	if done == "" {
		return "/", nil
	}
	return done, nil
}

// nextComponent cuts the first component off a path; rest is empty or begins with a slash.
func nextComponent(path string) (c, rest string) {
	path = strings.TrimLeft(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// canonAccept says why a component that is not followed cannot be part of the result. A slash, or a dot behind one,
// makes it a directory.
func canonAccept(p *proc.Process, at, rest string, mode canonMode, keepLinks bool) error {
	look := p.FS.Lstat
	if keepLinks {
		look = p.FS.Stat
	}
	switch {
	case wantsDirectory(rest):
		at, look = at+"/", p.FS.Stat
	case keepLinks && rest != "":
		return nil
	}
	_, err := look(at)
	switch {
	case err == nil:
		return nil
	case mode == CanonMissing && !errors.Is(err, vfs.ENAMETOOLONG):
		return nil
	case mode == CanonAllButLast && errors.Is(err, vfs.ENOENT) && strings.Trim(rest, "/") == "":
		return nil
	}
	return err
}

// wantsDirectory reports whether what stands before rest has to be a directory, without any component that would say so
// by itself.
func wantsDirectory(rest string) bool {
	for strings.HasPrefix(rest, "/") {
		var c string
		switch c, rest = nextComponent(rest); c {
		case "", "..":
			return true
		case ".":
			if rest == "" {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// CleanKeepSlash cleans a path and keeps a trailing slash.
func CleanKeepSlash(name string) string {
	c := path.Clean(name)
	if strings.HasSuffix(name, "/") && c != "/" {
		return c + "/"
	}
	return c
}

// RelativeTo is the path from directory base to target, both canonical.
func RelativeTo(target, base string) string {
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

// Within reports whether path is dir or below it; both are canonical.
func Within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// Confirm asks a question on stderr and reads the answer, one line of standard input.
func Confirm(p *proc.Process, question string) bool {
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
