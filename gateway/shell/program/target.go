package program

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Transfer is what cp, mv, ln and install make of their operands.
type Transfer struct {
	Sources []string
	Dest    string // a directory when IntoDir
	IntoDir bool
}

// ResolveTargets sorts out SOURCE... DEST, -t DIR and -T. It prints the complaint itself.
func ResolveTargets(
	p *proc.Process, s *getopt.Spec, args []string, target string, hasTarget, noTarget bool,
) (Transfer, bool) {
	if hasTarget && noTarget {
		p.Errorf("cannot combine --target-directory (-t) and --no-target-directory (-T)")
		return Transfer{}, false
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
			p.Errorf("target directory %s: %s", QuoteName(target), proc.Strerror(err))
			return Transfer{}, false
		}
		return Transfer{args, target, true}, true
	}
	if len(args) == 1 {
		s.Fail(p, "missing destination file operand after %s", QuoteName(args[0]))
	}
	last := args[len(args)-1]
	if noTarget {
		if len(args) > 2 {
			s.Fail(p, "extra operand %s", QuoteName(args[2]))
		}
		return Transfer{args[:1], last, false}, true
	}
	st, err := p.Stat(last)
	if err == nil && st.IsDir() {
		return Transfer{args[:len(args)-1], last, true}, true
	}
	if len(args) > 2 {
		if err == nil {
			err = vfs.ENOTDIR
		}
		p.Errorf("target %s: %s", QuoteName(last), proc.Strerror(err))
		return Transfer{}, false
	}
	return Transfer{args[:1], last, false}, true
}

// At is where source goes.
func (t Transfer) At(source string) string {
	if t.IntoDir {
		return JoinPath(t.Dest, BaseName(source))
	}
	return t.Dest
}

// Backups is the policy of -b, --backup and -S.
type Backups struct {
	Kind   string // "", "simple", "numbered" or "existing"
	Suffix string
}

// BackupOption is the key of the option --backup.
const BackupOption = "backup"

// NewBackups reads what the environment says of backups.
func NewBackups(p *proc.Process) Backups {
	suffix := p.Getenv("SIMPLE_BACKUP_SUFFIX")
	if suffix == "" || strings.Contains(suffix, "/") {
		suffix = "~"
	}
	return Backups{Suffix: suffix}
}

// Set takes an option that concerns backups.
func (b *Backups) Set(p *proc.Process, s *getopt.Spec, o getopt.Option) {
	v := o.Value
	if !o.Has {
		if v = p.Getenv("VERSION_CONTROL"); v == "" {
			v = "existing"
		}
	}
	b.Kind = Choose(p, s, "backup type", v, "none off", "simple never", "existing nil", "numbered t")
	if b.Kind == "none" {
		b.Kind = ""
	}
}

// SetSuffix sets the suffix of simple backups.
func (b *Backups) SetSuffix(suffix string) {
	b.Suffix = suffix
	if b.Kind == "" {
		b.Kind = "existing"
	}
}

// Name is where the existing file goes.
func (b Backups) Name(p *proc.Process, file string) string {
	if b.Kind == "simple" {
		return file + b.Suffix
	}
	base, highest := BaseName(file)+".~", 0
	entries, _ := p.ReadDir(DirName(file))
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name, base); ok {
			if num, ok := strings.CutSuffix(rest, "~"); ok {
				if n, err := strconv.Atoi(num); err == nil {
					highest = max(highest, n)
				}
			}
		}
	}
	if b.Kind == "existing" && highest == 0 {
		return file + b.Suffix
	}
	return file + ".~" + strconv.Itoa(highest+1) + "~"
}

// Move makes the backup and returns its name, "" when there was nothing to keep.
func (b Backups) Move(p *proc.Process, file string) (string, error) {
	if b.Kind == "" {
		return "", nil
	}
	to := b.Name(p, file)
	err := p.FS.Rename(p.Abs(file), p.Abs(to))
	if errors.Is(err, vfs.ENOENT) {
		return "", nil
	}
	return to, err
}
