package diffutils

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/patch"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// write puts the result in place.
func (j *patchJob) write() error {
	p := j.p
	size := 0
	for _, l := range j.result {
		size += len(l)
	}
	remove := size == 0 && (j.empty || j.newGone() == 2 && !j.posix) && j.out == ""
	if size > 0 && j.newGone() == 2 && !j.posix && j.out == "" {
		j.status = max(j.status, patchFailure)
		j.say("Not deleting file %s as content differs from patch\n", diffName(j.outName))
	}
	if j.dry {
		return nil
	}
	if j.outName == "-" {
		for _, l := range j.result {
			p.Out.Write(l)
		}
		return nil
	}
	if j.out != "" {
		return j.writeTo(j.out, 0o666&^p.Umask)
	}
	backup := j.always || (j.mismatch || len(j.failed) > 0) && !j.noMismatch
	if backup {
		if err := j.save(); err != nil {
			return err
		}
	}
	moved := j.in != j.outName
	if remove {
		if err := p.FS.Unlink(p.Abs(j.outName)); err != nil && !errors.Is(err, vfs.ENOENT) {
			return fmt.Errorf("Can't remove file %s : %s", j.outName,
				proc.Strerror(err)) //nolint:staticcheck // patch's own words
		}
		j.prune(j.outName)
		return nil
	}
	mode := 0o666 &^ p.Umask
	if j.exists {
		mode = j.st.Mode
	}
	if m := j.newMode(); m != 0 {
		mode = m & 0o777
	}
	_, err := p.Lstat(j.outName)
	if !(moved || j.mismatch || j.hunks > 0 || j.part.Format == patch.Ed || err != nil) {
		return wrapChmod(j.outName, p.FS.Chmod(p.Abs(j.outName), mode))
	}
	// A new inode, as after a rename: other links keep the old content.
	if err == nil {
		_ = p.FS.Unlink(p.Abs(j.outName))
	} else {
		j.directories(j.outName)
	}
	if err := j.writeTo(j.outName, mode); err != nil {
		return err
	}
	if moved && j.part.Rename {
		_ = p.FS.Unlink(p.Abs(j.in))
		j.prune(j.in)
	}
	if when := j.time(); j.setTime && !when.Time.IsZero() {
		_ = p.FS.Utimes(p.Abs(j.outName), when.Time.UnixNano(), true)
	}
	return nil
}

func wrapChmod(name string, err error) error {
	if err != nil {
		return fmt.Errorf("Can't set permissions on file %s : %s", name,
			proc.Strerror(err)) //nolint:staticcheck // patch's own words
	}
	return nil
}

func (j *patchJob) newMode() uint32 {
	if j.back {
		return j.part.OldMode
	}
	return j.part.NewMode
}

func (j *patchJob) time() patch.Name {
	if j.back {
		return j.part.Old
	}
	return j.part.New
}

func (j *patchJob) writeTo(name string, mode uint32) error {
	p := j.p
	flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
	if j.out != "" && j.outOpen {
		flag = vfs.WriteOnly | vfs.Append
	}
	f, err := p.Open(name, flag, 0o600)
	if err != nil {
		return fmt.Errorf("Can't create file %s : %s", name, proc.Strerror(err)) //nolint:staticcheck // patch's own words
	}
	j.outOpen = j.out != ""
	w := proc.NewWriter(f, p)
	for _, l := range j.result {
		w.Write(l)
	}
	w.Flush()
	if err := f.Close(); err != nil {
		return fmt.Errorf("write error : %s", proc.Strerror(err))
	}
	return wrapChmod(name, p.FS.Chmod(p.Abs(name), mode))
}

// save makes the backup, once in a run.
func (j *patchJob) save() error {
	p := j.p
	if j.saved[j.outName] {
		return nil
	}
	j.saved[j.outName] = true
	b := j.backup
	if j.prefix != "" || j.base != "" {
		b.Kind, b.Suffix = "simple", ""
	}
	to := b.Name(p, j.outName)
	if dir := program.DirName(to); j.base != "" {
		if to = j.base + program.BaseName(to); dir != "." {
			to = program.JoinPath(dir, to)
		}
	}
	to = j.prefix + to
	var data []byte
	var mode uint32
	st, err := p.Stat(j.outName)
	if err == nil {
		if data, err = p.ReadFile(j.outName); err != nil {
			return fmt.Errorf("Can't open file %s : %s", j.outName, proc.Strerror(err)) //nolint:staticcheck // patch's own words
		}
		mode = st.Mode
	}
	j.directories(to)
	f, err := p.Open(to, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o600)
	if err == nil {
		_, err = f.Write(data)
		_ = f.Close()
	}
	if err != nil {
		return fmt.Errorf("Can't create file %s : %s", to, proc.Strerror(err)) //nolint:staticcheck // patch's own words
	}
	if mode != 0 {
		_ = p.FS.Utimes(p.Abs(to), st.Mtime, true)
	}
	return wrapChmod(to, p.FS.Chmod(p.Abs(to), mode))
}

// directories makes what is missing above a name.
func (j *patchJob) directories(name string) {
	for i := range len(name) {
		if name[i] == '/' && i > 0 {
			_ = j.p.FS.Mkdir(j.p.Abs(name[:i]), 0o777&^j.p.Umask)
		}
	}
}

// prune removes the directories that a removed file leaves empty.
func (j *patchJob) prune(name string) {
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name, '/') {
		name = name[:i]
		if err := j.p.FS.Rmdir(j.p.Abs(name)); err != nil {
			return
		}
	}
}
