package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var (
	idSpec = getopt.New("agnruzGZ", "context=Z group=g groups=G name=n real=r user=u zero=z").
		WithUsage("[OPTION]... [USER]...", "Print user and group information for each specified USER, or (when USER omitted) for the current process.")
	groupsSpec  = getopt.New("", "").WithUsage("[OPTION]... [USERNAME]...", "Print group memberships for each USERNAME or, if no USERNAME is specified, for the current process.")
	whoamiSpec  = getopt.New("", "").WithUsage("[OPTION]...", "Print the user name associated with the current effective user ID.")
	lognameSpec = getopt.New("", "").WithUsage("[OPTION]", "Print the user's login name.")
	usersSpec   = getopt.New("", "").WithUsage("[OPTION]... [FILE]", "Output who is currently logged in according to FILE.")
)

func self(p *proc.Process) account { return account{p.User.Name, p.User.UID, p.User.GID} }

func id(_ context.Context, p *proc.Process) int {
	opts, args := idSpec.Parse(p)
	var only byte
	var asName, isReal, zero bool
	for _, o := range opts {
		switch o.Key {
		case "Z":
			p.Errorf("--context (-Z) works only on an SELinux-enabled kernel")
			return 1
		case "g", "u", "G":
			if only != 0 && only != o.Key[0] {
				p.Errorf("cannot print \"only\" of more than one choice")
				return 1
			}
			only = o.Key[0]
		case "n":
			asName = true
		case "r":
			isReal = true
		case "z":
			zero = true
		}
	}
	switch {
	case only == 0 && (asName || isReal):
		p.Errorf("cannot print only names or real IDs in default format")
		return 1
	case only == 0 && zero:
		p.Errorf("option --zero not permitted in default format")
		return 1
	}
	who := &names{p: p}
	user := func(n uint32) string {
		if s := who.user(n); asName && s != "" {
			return s
		}
		return strconv.FormatUint(uint64(n), 10)
	}
	status := 0
	group := func(n uint32) string {
		if s := who.group(n); asName && s != "" {
			return s
		} else if asName {
			p.Errorf("cannot find name for group ID %d", n)
			status = 1
		}
		return strconv.FormatUint(uint64(n), 10)
	}
	end, sep := "\n", " "
	if zero {
		end, sep = "\x00", "\x00"
	}
	show := func(u account) {
		switch only {
		case 'u':
			p.Out.WriteString(user(u.uid) + end)
		case 'g':
			p.Out.WriteString(group(u.gid) + end)
		case 'G':
			var list []string
			for _, g := range groupsOf(p, u) {
				list = append(list, group(g))
			}
			p.Out.WriteString(strings.Join(list, sep) + end)
			if zero && len(args) > 1 {
				p.Out.WriteString(end)
			}
		default:
			named := func(n uint32, name string) string {
				if name == "" {
					return strconv.FormatUint(uint64(n), 10)
				}
				return fmt.Sprintf("%d(%s)", n, name)
			}
			var list []string
			for _, g := range groupsOf(p, u) {
				list = append(list, named(g, who.group(g)))
			}
			fmt.Fprintf(p.Out, "uid=%s gid=%s groups=%s\n", named(u.uid, who.user(u.uid)), named(u.gid, who.group(u.gid)), strings.Join(list, ","))
		}
	}
	if len(args) == 0 {
		show(self(p))
		return status
	}
	for _, name := range args {
		u, ok := userByName(p, name)
		if n, number := accountNumber(name); !ok && number {
			u, ok = userByID(p, n)
		}
		if !ok {
			if name == "" {
				p.Errorf("%s: no such user: No such file or directory", quote(name))
			} else {
				p.Errorf("%s: no such user", quote(name))
			}
			status = 1
			continue
		}
		show(u)
	}
	return status
}

func groups(_ context.Context, p *proc.Process) int {
	_, args := groupsSpec.Parse(p)
	who, status := &names{p: p}, 0
	show := func(u account) {
		var list []string
		for _, g := range groupsOf(p, u) {
			name := who.group(g)
			if name == "" {
				p.Errorf("cannot find name for group ID %d", g)
				status = 1
				name = strconv.FormatUint(uint64(g), 10)
			}
			list = append(list, name)
		}
		p.Out.WriteString(strings.Join(list, " ") + "\n")
	}
	if len(args) == 0 {
		show(self(p))
		return status
	}
	for _, name := range args {
		u, ok := userByName(p, name)
		if !ok {
			p.Errorf("%s: no such user", quote(name))
			status = 1
			continue
		}
		p.Out.WriteString(name + " : ")
		show(u)
	}
	return status
}

func noOperand(p *proc.Process, s *getopt.Spec, args []string, allowed int) {
	if len(args) > allowed {
		s.Fail(p, "extra operand %s", quote(args[allowed]))
	}
}

func whoami(_ context.Context, p *proc.Process) int {
	_, args := whoamiSpec.Parse(p)
	noOperand(p, whoamiSpec, args, 0)
	name := (&names{p: p}).user(p.User.UID)
	if name == "" {
		p.Errorf("cannot find name for user ID %d", p.User.UID)
		return 1
	}
	p.Out.WriteString(name + "\n")
	return 0
}

func logname(_ context.Context, p *proc.Process) int {
	_, args := lognameSpec.Parse(p)
	noOperand(p, lognameSpec, args, 0)
	p.Out.WriteString(p.User.Name + "\n")
	return 0
}

// users prints nothing: nobody is logged in on a terminal.
func users(_ context.Context, p *proc.Process) int {
	_, args := usersSpec.Parse(p)
	noOperand(p, usersSpec, args, 1)
	return 0
}
