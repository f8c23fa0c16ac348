package program

import (
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// HumanSize is a size in the style of ls -h: rounded up, one digit after the point below ten units.
func HumanSize(n, base uint64) string {
	if n < base {
		return strconv.FormatUint(n, 10)
	}
	units := "KMGTPEZY"
	if base == 1000 {
		units = "kMGTPEZY"
	}
	unit := base
	k := 0
	for n/unit >= base && k < 5 {
		unit *= base
		k++
	}
	if tenths := (n/unit)*10 + (n%unit*10+unit-1)/unit; tenths < 100 {
		return strconv.FormatUint(tenths/10, 10) + "." + strconv.FormatUint(tenths%10, 10) + units[k:k+1]
	}
	whole := (n + unit - 1) / unit
	if whole >= base && k < 5 {
		return "1.0" + units[k+1:k+2]
	}
	return strconv.FormatUint(whole, 10) + units[k:k+1]
}

// BlockSize is how ls and du print sizes: human, or in units that are rounded up.
type BlockSize struct {
	Human  uint64 // 1024 or 1000; 0 for units
	Unit   uint64
	suffix string
}

// Format prints a number of bytes in blocks of this size.
func (b BlockSize) Format(bytes uint64) string {
	if b.Human != 0 {
		return HumanSize(bytes, b.Human)
	}
	return strconv.FormatUint(bytes/b.Unit+min(bytes%b.Unit, 1), 10) + b.suffix
}

// ParseBlockSize reads the value of --block-size.
func ParseBlockSize(s string) (BlockSize, bool) {
	switch s {
	case "human-readable":
		return BlockSize{Human: 1024}, true
	case "si":
		return BlockSize{Human: 1000}, true
	}
	s = strings.TrimPrefix(s, "'")
	n, problem := ParseCount(s, "kKmMGTPEZY")
	if problem != NumberOK || n == 0 {
		return BlockSize{}, false
	}
	b := BlockSize{Unit: uint64(n)}
	if s != "" && !IsDigit(s[0]) {
		b.suffix = s
		if s[0] == 'm' {
			b.suffix = "M" + s[1:]
		}
		if len(s) == 2 && s[1] == 'B' && s[0] == 'K' {
			b.suffix = "kB"
		}
	}
	return b, true
}

// BadBlockSize complains about the argument of -B or --block-size.
func BadBlockSize(p *proc.Process, o getopt.Option) {
	name, what := "--block-size", "invalid"
	if !o.Long {
		name = "-" + o.Key
	}
	if o.Value != "" && IsDigit(o.Value[0]) && strings.Trim(o.Value, "0123456789") != "" {
		what = "invalid suffix in"
	}
	p.Errorf("%s %s argument '%s'", what, name, o.Value)
}

// Names maps user and group numbers to the names in the sandbox's /etc/passwd and /etc/group.
type Names struct {
	P             *proc.Process
	users, groups map[uint32]string
}

// User is the name of a user, or the number when there is none.
func (n *Names) User(id uint32) string {
	if n.users == nil {
		n.users = n.load("/etc/passwd")
		if _, ok := n.users[n.P.User.UID]; !ok && n.P.User.Name != "" {
			n.users[n.P.User.UID] = n.P.User.Name
		}
	}
	return n.users[id]
}

// Group is the name of a group, or the number when there is none.
func (n *Names) Group(id uint32) string {
	if n.groups == nil {
		n.groups = n.load("/etc/group")
		if _, ok := n.groups[n.P.User.GID]; !ok && n.P.User.Group != "" {
			n.groups[n.P.User.GID] = n.P.User.Group
		}
	}
	return n.groups[id]
}

func (n *Names) load(path string) map[uint32]string {
	m := map[uint32]string{}
	data, err := n.P.FS.ReadFile(path)
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(line, ":", 4)
		if len(f) < 3 {
			continue
		}
		if id, err := strconv.ParseUint(strings.TrimSpace(f[2]), 10, 32); err == nil {
			if _, taken := m[uint32(id)]; !taken {
				m[uint32(id)] = f[0]
			}
		}
	}
	return m
}
