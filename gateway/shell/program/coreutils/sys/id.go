package sys

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var (
	idSpec = getopt.New("agnruzGZ", "context=Z group=g groups=G name=n real=r user=u zero=z").
		WithUsage("[OPTION]... [USER]...",
			"Print user and group information for each specified USER, or (when USER omitted) for the current process.")
	groupsSpec = getopt.New("", "").WithUsage("[OPTION]... [USERNAME]...",
		"Print group memberships for each USERNAME or, if no USERNAME is specified, for the current process.")
	whoamiSpec = getopt.New("", "").WithUsage("[OPTION]...",
		"Print the user name associated with the current effective user ID.")
	lognameSpec = getopt.New("", "").WithUsage("[OPTION]", "Print the user's login name.")
	usersSpec   = getopt.New("", "").WithUsage("[OPTION]... [FILE]",
		"Output who is currently logged in according to FILE.")
)

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
	who := &program.Names{P: p}
	user := func(n uint32) string {
		if s := who.User(n); asName && s != "" {
			return s
		}
		return strconv.FormatUint(uint64(n), 10)
	}
	status := 0
	group := func(n uint32) string {
		if s := who.Group(n); asName && s != "" {
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
	show := func(u program.Account) {
		switch only {
		case 'u':
			p.Out.WriteString(user(u.UID) + end)
		case 'g':
			p.Out.WriteString(group(u.GID) + end)
		case 'G':
			var list []string
			for _, g := range program.GroupsOf(p, u) {
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
			for _, g := range program.GroupsOf(p, u) {
				list = append(list, named(g, who.Group(g)))
			}
			fmt.Fprintf(p.Out, "uid=%s gid=%s groups=%s\n", named(u.UID, who.User(u.UID)), named(u.GID, who.Group(u.GID)),
				strings.Join(list, ","))
		}
	}
	if len(args) == 0 {
		show(program.Self(p))
		return status
	}
	for _, name := range args {
		u, ok := program.UserByName(p, name)
		if n, number := program.AccountNumber(name); !ok && number {
			u, ok = program.UserByID(p, n)
		}
		if !ok {
			if name == "" {
				p.Errorf("%s: no such user: No such file or directory", program.Quote(name))
			} else {
				p.Errorf("%s: no such user", program.Quote(name))
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
	who, status := &program.Names{P: p}, 0
	show := func(u program.Account) {
		var list []string
		for _, g := range program.GroupsOf(p, u) {
			name := who.Group(g)
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
		show(program.Self(p))
		return status
	}
	for _, name := range args {
		u, ok := program.UserByName(p, name)
		if !ok {
			p.Errorf("%s: no such user", program.Quote(name))
			status = 1
			continue
		}
		p.Out.WriteString(name + " : ")
		show(u)
	}
	return status
}

func whoami(_ context.Context, p *proc.Process) int {
	_, args := whoamiSpec.Parse(p)
	program.NoOperand(p, whoamiSpec, args, 0)
	name := (&program.Names{P: p}).User(p.User.UID)
	if name == "" {
		p.Errorf("cannot find name for user ID %d", p.User.UID)
		return 1
	}
	p.Out.WriteString(name + "\n")
	return 0
}

func logname(_ context.Context, p *proc.Process) int {
	_, args := lognameSpec.Parse(p)
	program.NoOperand(p, lognameSpec, args, 0)
	p.Out.WriteString(p.User.Name + "\n")
	return 0
}

// users prints nothing: nobody is logged in on a terminal.
func users(_ context.Context, p *proc.Process) int {
	_, args := usersSpec.Parse(p)
	program.NoOperand(p, usersSpec, args, 1)
	return 0
}
