package command

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// transfer is what cp, mv, ln and install make of their operands.
type transfer struct {
	sources []string
	dest    string // a directory when intoDir
	intoDir bool
}

// resolveTargets sorts out SOURCE... DEST, -t DIR and -T. It prints the complaint itself.
func resolveTargets(p *proc.Process, s *getopt.Spec, args []string, target string, hasTarget, noTarget bool) (transfer, bool) {
	if hasTarget && noTarget {
		p.Errorf("cannot combine --target-directory (-t) and --no-target-directory (-T)")
		return transfer{}, false
	}
	if len(args) == 0 {
		s.Fail(p, "missing file operand")
	}
	if hasTarget {
		st, err := p.Stat(target)
		if err == nil && !st.IsDir() {
			err = vfs.ENOTDIR
		}
		if err != nil {
			p.Errorf("target directory %s: %s", quoteName(target), proc.Strerror(err))
			return transfer{}, false
		}
		return transfer{args, target, true}, true
	}
	if len(args) == 1 {
		s.Fail(p, "missing destination file operand after %s", quoteName(args[0]))
	}
	last := args[len(args)-1]
	if noTarget {
		if len(args) > 2 {
			s.Fail(p, "extra operand %s", quoteName(args[2]))
		}
		return transfer{args[:1], last, false}, true
	}
	st, err := p.Stat(last)
	if err == nil && st.IsDir() {
		return transfer{args[:len(args)-1], last, true}, true
	}
	if len(args) > 2 {
		if err == nil {
			err = vfs.ENOTDIR
		}
		p.Errorf("target %s: %s", quoteName(last), proc.Strerror(err))
		return transfer{}, false
	}
	return transfer{args[:1], last, false}, true
}

// at is where source goes.
func (t transfer) at(source string) string {
	if t.intoDir {
		return joinPath(t.dest, baseName(source))
	}
	return t.dest
}

// backups is the policy of -b, --backup and -S.
type backups struct {
	kind   string // "", "simple", "numbered" or "existing"
	suffix string
}

const backupOption = "backup"

func newBackups(p *proc.Process) backups {
	suffix := p.Getenv("SIMPLE_BACKUP_SUFFIX")
	if suffix == "" || strings.Contains(suffix, "/") {
		suffix = "~"
	}
	return backups{suffix: suffix}
}

func (b *backups) set(p *proc.Process, s *getopt.Spec, o getopt.Option) {
	v := o.Value
	if !o.Has {
		if v = p.Getenv("VERSION_CONTROL"); v == "" {
			v = "existing"
		}
	}
	b.kind = choose(p, s, "backup type", v, "none off", "simple never", "existing nil", "numbered t")
	if b.kind == "none" {
		b.kind = ""
	}
}

func (b *backups) setSuffix(suffix string) {
	b.suffix = suffix
	if b.kind == "" {
		b.kind = "existing"
	}
}

// name is where the existing file goes.
func (b backups) name(p *proc.Process, file string) string {
	if b.kind == "simple" {
		return file + b.suffix
	}
	base, highest := baseName(file)+".~", 0
	entries, _ := p.ReadDir(dirName(file))
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name, base); ok {
			if num, ok := strings.CutSuffix(rest, "~"); ok {
				if n, err := strconv.Atoi(num); err == nil {
					highest = max(highest, n)
				}
			}
		}
	}
	if b.kind == "existing" && highest == 0 {
		return file + b.suffix
	}
	return file + ".~" + strconv.Itoa(highest+1) + "~"
}

// move makes the backup and returns its name, "" when there was nothing to keep.
func (b backups) move(p *proc.Process, file string) (string, error) {
	if b.kind == "" {
		return "", nil
	}
	to := b.name(p, file)
	err := p.FS.Rename(p.Abs(file), p.Abs(to))
	if errors.Is(err, vfs.ENOENT) {
		return "", nil
	}
	return to, err
}
