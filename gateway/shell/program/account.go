package program

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// accountLines calls f with the fields of each line of /etc/passwd or /etc/group.
func accountLines(p *proc.Process, path string, f func(fields []string)) {
	data, err := p.FS.ReadFile(path)
	if err != nil {
		return // without the file there are the exec's own user and group
	}
	for line := range strings.Lines(string(data)) {
		p.Tick(1)
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), ":"); len(fields) >= 4 {
			f(fields)
		}
	}
}

// Account is a user of the sandbox.
type Account struct {
	Name     string
	UID, GID uint32
}

// UserByName finds a user in /etc/passwd.
func UserByName(p *proc.Process, name string) (u Account, ok bool) {
	accountLines(p, "/etc/passwd", func(f []string) {
		uid, err1 := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if !ok && f[0] == name && err1 == nil && err2 == nil {
			u, ok = Account{f[0], uint32(uid), uint32(gid)}, true
		}
	})
	if !ok && name == p.User.Name && name != "" {
		return Account{name, p.User.UID, p.User.GID}, true
	}
	return u, ok
}

// UserByID finds a user in /etc/passwd by number.
func UserByID(p *proc.Process, uid uint32) (Account, bool) {
	if uid == p.User.UID {
		return Account{p.User.Name, p.User.UID, p.User.GID}, true
	}
	name := (&Names{P: p}).User(uid)
	if name == "" {
		return Account{}, false
	}
	return UserByName(p, name)
}

// GroupByName finds a group in /etc/group.
func GroupByName(p *proc.Process, name string) (gid uint32, ok bool) {
	accountLines(p, "/etc/group", func(f []string) {
		if n, err := strconv.ParseUint(f[2], 10, 32); !ok && f[0] == name && err == nil {
			gid, ok = uint32(n), true
		}
	})
	if !ok && name == p.User.Group && name != "" {
		return p.User.GID, true
	}
	return gid, ok
}

// GroupsOf are the groups of a user, the own one first.
func GroupsOf(p *proc.Process, u Account) []uint32 {
	out := []uint32{u.GID}
	accountLines(p, "/etc/group", func(f []string) {
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err == nil && slices.Contains(strings.Split(f[3], ","), u.Name) && !slices.Contains(out, uint32(gid)) {
			out = append(out, uint32(gid))
		}
	})
	return out
}

// AccountNumber reads a user or group given by its number.
func AccountNumber(s string) (uint32, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 32)
	return uint32(n), err == nil && n != 1<<32-1
}
