package proc

import (
	"errors"
	"strings"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// DefaultPath is what execvp searches without PATH.
const DefaultPath = "/bin:/usr/bin"

// LookPath finds the file that execvp would run for a name: ENOENT when there is none, EACCES when it may not be
// executed.
func (p *Process) LookPath(name string) (string, error) {
	if name == "" {
		return "", vfs.ENOENT
	}
	if strings.Contains(name, "/") {
		return name, p.Executable(name)
	}
	path, ok := p.Env.Get("PATH")
	if !ok {
		path = DefaultPath
	}
	result := error(vfs.ENOENT)
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		full := strings.TrimSuffix(dir, "/") + "/" + name
		err := p.Executable(full)
		if err == nil {
			return full, nil
		}
		if errors.Is(err, vfs.EACCES) {
			result = err
		}
	}
	return "", result
}

// Executable says why a file may not be executed: EACCES for a directory, ENOENT when there is none.
func (p *Process) Executable(name string) error {
	st, err := p.Stat(name)
	if err != nil {
		return err
	}
	if st.IsDir() || st.Mode&0o111 == 0 {
		return vfs.EACCES
	}
	return nil
}
