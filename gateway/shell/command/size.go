package command

import (
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// humanSize is a size in the style of ls -h: rounded up, one digit after the point below ten units.
func humanSize(n, base uint64) string {
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

// blockSize is how ls and du print sizes: human, or in units that are rounded up.
type blockSize struct {
	human  uint64 // 1024 or 1000; 0 for units
	unit   uint64
	suffix string
}

func (b blockSize) format(bytes uint64) string {
	if b.human != 0 {
		return humanSize(bytes, b.human)
	}
	return strconv.FormatUint(bytes/b.unit+min(bytes%b.unit, 1), 10) + b.suffix
}

// parseBlockSize reads the value of --block-size.
func parseBlockSize(s string) (blockSize, bool) {
	switch s {
	case "human-readable":
		return blockSize{human: 1024}, true
	case "si":
		return blockSize{human: 1000}, true
	}
	s = strings.TrimPrefix(s, "'")
	n, problem := parseCount(s, "kKmMGTPEZY")
	if problem != numberOK || n == 0 {
		return blockSize{}, false
	}
	b := blockSize{unit: uint64(n)}
	if s != "" && !isDigit(s[0]) {
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

// badBlockSize complains about the argument of -B or --block-size.
func badBlockSize(p *proc.Process, o getopt.Option) {
	name, what := "--block-size", "invalid"
	if !o.Long {
		name = "-" + o.Key
	}
	if o.Value != "" && isDigit(o.Value[0]) && strings.Trim(o.Value, "0123456789") != "" {
		what = "invalid suffix in"
	}
	p.Errorf("%s %s argument '%s'", what, name, o.Value)
}

// names maps user and group numbers to the names in the sandbox's /etc/passwd and /etc/group.
type names struct {
	p             *proc.Process
	users, groups map[uint32]string
}

func (n *names) user(id uint32) string {
	if n.users == nil {
		n.users = n.load("/etc/passwd")
		if _, ok := n.users[n.p.User.UID]; !ok && n.p.User.Name != "" {
			n.users[n.p.User.UID] = n.p.User.Name
		}
	}
	return n.users[id]
}

func (n *names) group(id uint32) string {
	if n.groups == nil {
		n.groups = n.load("/etc/group")
		if _, ok := n.groups[n.p.User.GID]; !ok && n.p.User.Group != "" {
			n.groups[n.p.User.GID] = n.p.User.Group
		}
	}
	return n.groups[id]
}

func (n *names) load(path string) map[uint32]string {
	m := map[uint32]string{}
	data, err := n.p.FS.ReadFile(path)
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
