package file

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const chownLongs = "changes=c dereference no-dereference=h from: no-preserve-root preserve-root quiet=f silent=f reference: recursive=R verbose=v"

var (
	chownSpec = getopt.New("HLPRcfhv", chownLongs).
			WithUsage("[OPTION]... [OWNER][:[GROUP]] FILE...\n  or:  chown [OPTION]... --reference=RFILE FILE...",
			"Change the owner and/or group of each FILE to OWNER and/or GROUP.")
	chgrpSpec = getopt.New("HLPRcfhv", chownLongs).
			WithUsage("[OPTION]... GROUP FILE...\n  or:  chgrp [OPTION]... --reference=RFILE FILE...",
			"Change the group of each FILE to GROUP.")
)

// ownership is a pair of user and group; -1 leaves one as it is.
type ownership struct{ uid, gid int }

type chownRun struct {
	p                                 *proc.Process
	to, from                          ownership
	userName, groupName               string // as given, "" when not
	recursive, changes, quiet, report bool
	noFollow                          bool
	walk                              byte // H, L or P of -R
	preserveRoot                      bool
	status                            int
}

func chown(_ context.Context, p *proc.Process) int { return runChown(p, chownSpec, false) }

func chgrp(_ context.Context, p *proc.Process) int { return runChown(p, chgrpSpec, true) }

func runChown(p *proc.Process, spec *getopt.Spec, groupOnly bool) int {
	opts, args := spec.Parse(p)
	r := &chownRun{p: p, to: ownership{-1, -1}, from: ownership{-1, -1}, walk: 'P'}
	var reference string
	var hasReference, dereference bool
	for _, o := range opts {
		switch o.Key {
		case "H", "L", "P":
			r.walk = o.Key[0]
		case "R":
			r.recursive = true
		case "c":
			r.changes, r.report = true, false
		case "f":
			r.quiet = true
		case "h":
			r.noFollow, dereference = true, false
		case "dereference":
			r.noFollow, dereference = false, true
		case "v":
			r.report, r.changes = true, false
		case "from":
			var problem string
			if r.from, _, _, problem = parseChownSpec(p, o.Value); problem != "" {
				p.Errorf("%s", problem)
				return 1
			}
		case "preserve-root":
			r.preserveRoot = true
		case "no-preserve-root":
			r.preserveRoot = false
		case "reference":
			reference, hasReference = o.Value, true
		}
	}
	if r.recursive && r.walk == 'P' {
		if dereference {
			p.Errorf("-R --dereference requires either -H or -L")
			return 1
		}
		r.noFollow = true
	}
	need := 2
	if hasReference {
		need = 1
	}
	switch {
	case len(args) == 0:
		spec.Fail(p, "missing operand")
	case len(args) < need:
		spec.Fail(p, "missing operand after %s", program.Quote(args[0]))
	}
	switch {
	case hasReference:
		st, err := p.Stat(reference)
		if err != nil {
			p.Errorf("failed to get attributes of %s: %s", program.QuoteName(reference), proc.Strerror(err))
			return 1
		}
		who := &program.Names{P: p}
		r.to.gid, r.groupName = int(st.GID), nameOr(who.Group(st.GID), st.GID)
		if !groupOnly {
			r.to.uid, r.userName = int(st.UID), nameOr(who.User(st.UID), st.UID)
		}
	case groupOnly:
		if args[0] != "" {
			gid, ok := program.GroupByName(p, args[0])
			if !ok {
				gid, ok = program.AccountNumber(args[0])
			}
			if !ok {
				p.Errorf("invalid group: %s", program.Quote(args[0]))
				return 1
			}
			r.to.gid, r.groupName = int(gid), args[0]
		}
		args = args[1:]
	default:
		var problem string
		if r.to, r.userName, r.groupName, problem = parseChownSpec(p, args[0]); problem != "" {
			p.Errorf("%s", problem)
			return 1
		}
		if strings.Contains(args[0], ".") && !strings.Contains(args[0], ":") && r.to.gid >= 0 {
			p.Errorf("warning: '.' should be ':': %s", program.Quote(args[0]))
		}
		args = args[1:]
	}
	for _, name := range args {
		if r.recursive && r.preserveRoot && strings.Trim(name, "/") == "" && name != "" {
			p.Errorf("it is dangerous to operate recursively on '/'")
			p.Errorf("use --no-preserve-root to override this failsafe")
			r.status = 1
			continue
		}
		r.set(name, true, 0)
	}
	return r.status
}

func nameOr(name string, id uint32) string {
	if name == "" {
		return fmt.Sprint(id)
	}
	return name
}

// parseChownSpec reads USER, USER:, USER:GROUP or :GROUP; names win over numbers. A dot separates, too, where no user
// has it in the name.
func parseChownSpec(p *proc.Process, s string) (o ownership, user, group, problem string) {
	o = ownership{-1, -1}
	parse := func(sep string) string {
		var split bool
		user, group, split = strings.Cut(s, sep)
		if user != "" {
			u, ok := program.UserByName(p, user)
			if !ok {
				var n uint32
				if n, ok = program.AccountNumber(user); ok {
					u = program.Account{Name: user, UID: n}
					if split && group == "" {
						if u, ok = program.UserByID(p, n); !ok {
							return "invalid spec: " + program.Quote(s)
						}
					}
				}
			}
			if !ok {
				return "invalid user: " + program.Quote(s)
			}
			o.uid = int(u.UID)
			if split && group == "" {
				o.gid = int(u.GID)
				group = nameOr((&program.Names{P: p}).Group(u.GID), u.GID)
				return ""
			}
		}
		if group != "" {
			gid, ok := program.GroupByName(p, group)
			if !ok {
				gid, ok = program.AccountNumber(group)
			}
			if !ok {
				return "invalid group: " + program.Quote(s)
			}
			o.gid = int(gid)
		}
		return ""
	}
	problem = parse(":")
	if problem != "" && !strings.Contains(s, ":") && strings.Contains(s, ".") {
		whole := o
		o = ownership{-1, -1}
		if parse(".") == "" {
			return o, user, group, ""
		}
		return whole, user, group, problem
	}
	return o, user, group, problem
}

// allowed is what the kernel lets an ordinary user do: keep the owner, and give own files to own groups.
func (r *chownRun) allowed(st vfs.Stat) bool { return mayChown(r.p, st, r.to) }

func mayChown(p *proc.Process, st vfs.Stat, to ownership) bool {
	if p.User.UID == 0 {
		return true
	}
	if st.UID != p.User.UID {
		return to.uid < 0 && to.gid < 0
	}
	return (to.uid < 0 || uint32(to.uid) == st.UID) && (to.gid < 0 || uint32(to.gid) == st.GID ||
		slices.Contains(program.GroupsOf(p, program.Self(p)), uint32(to.gid)))
}

func (r *chownRun) set(name string, arg bool, depth int) {
	p := r.p
	p.Tick(1)
	lst, err := p.Lstat(name)
	st := lst
	if err == nil && lst.Kind == vfs.Symlink && (!r.noFollow || r.recursive && (r.walk == 'L' || r.walk == 'H' && arg)) {
		if st, err = p.Stat(name); err != nil {
			r.status = 1
			if !r.quiet {
				p.Errorf("cannot dereference %s: %s", program.QuoteName(name), proc.Strerror(err))
			}
			r.say(name, nil, "failed to change")
			return
		}
	}
	if err != nil {
		r.status = 1
		if !r.quiet {
			p.Errorf("cannot access %s: %s", program.QuoteName(name), proc.Strerror(err))
		}
		r.say(name, nil, "failed to change")
		return
	}
	// What is below a directory comes first, as in GNU's walk.
	if r.recursive && st.IsDir() && depth < program.MaxTreeDepth &&
		(lst.Kind != vfs.Symlink || r.walk == 'L' || r.walk == 'H' && arg) {
		entries, err := p.ReadDir(name)
		if err != nil {
			r.status = 1
			if !r.quiet {
				p.Errorf("cannot read directory %s: %s", program.QuoteName(name), proc.Strerror(err))
			}
		}
		for _, e := range entries {
			r.set(program.JoinPath(name, e.Name), false, depth+1)
		}
	}
	if r.from.uid >= 0 && uint32(r.from.uid) != st.UID || r.from.gid >= 0 && uint32(r.from.gid) != st.GID {
		r.say(name, &st, "retained")
		return
	}
	if r.to.uid < 0 && r.to.gid < 0 {
		r.say(name, &st, "retained")
		return
	}
	err = error(vfs.EPERM)
	if r.allowed(st) {
		err = p.FS.Chown(p.Abs(name), r.to.uid, r.to.gid, st.Kind != vfs.Symlink)
	}
	if err != nil {
		r.status = 1
		if !r.quiet {
			what := "ownership"
			if r.to.uid < 0 {
				what = "group"
			}
			p.Errorf("changing %s of %s: %s", what, program.QuoteName(name), proc.Strerror(err))
		}
		r.say(name, &st, "failed to change")
		return
	}
	if (r.to.uid < 0 || uint32(r.to.uid) == st.UID) && (r.to.gid < 0 || uint32(r.to.gid) == st.GID) {
		r.say(name, &st, "retained")
		return
	}
	r.say(name, &st, "changed")
}

// say is what -v and -c print. st is nil when the file could not be looked at.
func (r *chownRun) say(name string, st *vfs.Stat, outcome string) {
	if !r.report && (!r.changes || outcome != "changed") {
		return
	}
	who := &program.Names{P: r.p}
	spec := func(user, group string) string {
		switch {
		case user != "" && group != "":
			return user + ":" + group
		case user != "":
			return user
		}
		return group
	}
	to := spec(r.userName, r.groupName)
	what := "ownership"
	if r.userName == "" && r.groupName != "" {
		what = "group"
	}
	from := ""
	if st != nil {
		var u, g string
		if r.userName != "" {
			u = nameOr(who.User(st.UID), st.UID)
		}
		if r.groupName != "" {
			g = nameOr(who.Group(st.GID), st.GID)
		}
		from = spec(u, g)
	}
	// ":group" shows both names as they are.
	if r.userName == "" && r.groupName != "" && r.p.Name() != "chgrp" && st != nil {
		what = "ownership"
		from = ":" + from
		to = ":" + to
		if outcome == "retained" {
			from = nameOr(who.User(st.UID), st.UID) + from
		}
	}
	out := r.p.Out
	switch outcome {
	case "retained":
		if from == "" {
			fmt.Fprintf(out, "ownership of %s retained\n", program.QuoteName(name))
			return
		}
		fmt.Fprintf(out, "%s of %s retained as %s\n", what, program.QuoteName(name), from)
	case "changed":
		fmt.Fprintf(out, "changed %s of %s from %s to %s\n", what, program.QuoteName(name), from, to)
	default:
		if st == nil {
			fmt.Fprintf(out, "failed to change %s of %s to %s\n", what, program.QuoteName(name), to)
			return
		}
		fmt.Fprintf(out, "failed to change %s of %s from %s to %s\n", what, program.QuoteName(name), from, to)
	}
}

// chownPath changes the owner of a new file for install.
func chownPath(p *proc.Process, name string, to ownership) error {
	st, err := p.Stat(name)
	if err != nil {
		return err
	}
	if !mayChown(p, st, to) {
		return vfs.EPERM
	}
	return p.FS.Chown(p.Abs(name), to.uid, to.gid, true)
}
