package command

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

// account is a user of the sandbox.
type account struct {
	name     string
	uid, gid uint32
}

func userByName(p *proc.Process, name string) (u account, ok bool) {
	accountLines(p, "/etc/passwd", func(f []string) {
		uid, err1 := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if !ok && f[0] == name && err1 == nil && err2 == nil {
			u, ok = account{f[0], uint32(uid), uint32(gid)}, true
		}
	})
	if !ok && name == p.User.Name && name != "" {
		return account{name, p.User.UID, p.User.GID}, true
	}
	return u, ok
}

func userByID(p *proc.Process, uid uint32) (account, bool) {
	if uid == p.User.UID {
		return account{p.User.Name, p.User.UID, p.User.GID}, true
	}
	name := (&names{p: p}).user(uid)
	if name == "" {
		return account{}, false
	}
	return userByName(p, name)
}

func groupByName(p *proc.Process, name string) (gid uint32, ok bool) {
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

// groupsOf are the groups of a user, the own one first.
func groupsOf(p *proc.Process, u account) []uint32 {
	out := []uint32{u.gid}
	accountLines(p, "/etc/group", func(f []string) {
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err == nil && slices.Contains(strings.Split(f[3], ","), u.name) && !slices.Contains(out, uint32(gid)) {
			out = append(out, uint32(gid))
		}
	})
	return out
}

// accountNumber reads a user or group given by its number.
func accountNumber(s string) (uint32, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 32)
	return uint32(n), err == nil && n != 1<<32-1
}
