package findutils

import (
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/program"
)

// accounts lists name:id pairs of /etc/passwd or /etc/group.
func (f *findRun) account(file, name string) (id uint32, ok bool) {
	data, err := f.p.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) > 2 && fields[0] == name {
			n, err := strconv.ParseUint(fields[2], 10, 32)
			return uint32(n), err == nil
		}
	}
	return 0, false
}

func (f *findRun) accountName(file string, id uint32) string {
	data, err := f.p.ReadFile(file)
	if err != nil {
		return ""
	}
	want := strconv.FormatUint(uint64(id), 10)
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) > 2 && fields[2] == want {
			return fields[0]
		}
	}
	return ""
}

func (f *findRun) userName(uid uint32) string {
	switch uid {
	case f.p.User.UID:
		return f.p.User.Name
	case 0:
		return "root"
	}
	return f.accountName("/etc/passwd", uid)
}

func (f *findRun) groupName(gid uint32) string {
	switch gid {
	case f.p.User.GID:
		return f.p.User.Group
	case 0:
		return "root"
	}
	return f.accountName("/etc/group", gid)
}

func (f *findRun) ownerTest(name, arg string) findTest {
	user := name == "-user"
	var id uint32
	switch {
	case user && arg == f.p.User.Name:
		id = f.p.User.UID
	case !user && arg == f.p.User.Group:
		id = f.p.User.GID
	case arg == "root":
	default:
		file := "/etc/passwd"
		if !user {
			file = "/etc/group"
		}
		n, ok := f.account(file, arg)
		if !ok {
			v, err := strconv.ParseUint(arg, 10, 32)
			if err != nil {
				if user {
					f.fatal("%s is not the name of a known user", program.Quote(arg))
				}
				f.fatal("%s is not the name of an existing group", program.Quote(arg))
			}
			n = uint32(v)
		}
		id = n
	}
	if user {
		return func(e *findEntry) bool { return e.stat().UID == id }
	}
	return func(e *findEntry) bool { return e.stat().GID == id }
}
