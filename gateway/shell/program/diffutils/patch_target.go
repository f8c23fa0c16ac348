package diffutils

import (
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/patch"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// candidate is a file that the headers name.
type candidate struct {
	name string
	st   vfs.Stat
	err  error
}

// choose finds the file to patch, "" if there is none.
func (j *patchJob) choose() {
	if j.operand != "" {
		j.in = j.operand
		return
	}
	pt := j.part
	if pt.Rename || pt.Copy {
		from, to := j.gitName(pt.Old.Path), j.gitName(pt.New.Path)
		if j.back {
			from, to = to, from
		}
		j.in, j.outName = from, to
		if j.back && pt.Copy {
			j.in, j.outName = to, to // a copy taken back is the change to the original
			if _, err := j.p.Stat(to); err != nil {
				j.in = from
			}
			return
		}
		return
	}
	var found []candidate
	names := []string{pt.Old.Path, pt.New.Path}
	named, ignored := false, ""
	for _, n := range names {
		if s := j.stripped(n); s != "" {
			if !strings.HasPrefix(s, "/") && !filepathLocal(s) {
				if s != ignored {
					j.say("Ignoring potentially dangerous file name %s\n", diffName(s))
				}
				ignored = s
				continue
			}
			named = true
			st, err := j.p.Stat(s)
			found = append(found, candidate{s, st, err})
		}
	}
	if s := j.stripped(pt.Index); s != "" && (!named || j.posix) {
		st, err := j.p.Stat(s)
		found = append(found, candidate{s, st, err})
	}
	best := func(list []candidate) string {
		if len(list) == 0 {
			return ""
		}
		if j.posix {
			return list[0].name
		}
		return slices.MinFunc(list, func(a, b candidate) int {
			if n := strings.Count(a.name, "/") - strings.Count(b.name, "/"); n != 0 {
				return n
			}
			if n := len(program.BaseName(a.name)) - len(program.BaseName(b.name)); n != 0 {
				return n
			}
			return len(a.name) - len(b.name)
		}).name
	}
	j.in = best(slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.err != nil }))
	if j.in == "" && (j.oldGone() > 0 || pt.Git && pt.Format == patch.Git || j.newGone() > 0) {
		// A file to be made: the name that needs the fewest new directories.
		missing := func(name string) int {
			n := 0
			for i := range len(name) {
				if name[i] == '/' && i > 0 {
					if _, err := j.p.Stat(name[:i]); err != nil {
						n++
					}
				}
			}
			return n
		}
		least := -1
		for _, c := range found {
			if n := missing(c.name); least < 0 || n < least {
				least = n
			}
		}
		j.in = best(slices.DeleteFunc(found, func(c candidate) bool { return missing(c.name) > least }))
	}
}

// filepathLocal reports whether a name stays below the directory it begins in.
func filepathLocal(name string) bool { return !slices.Contains(strings.Split(name, "/"), "..") }

func (j *patchJob) gitName(name string) string {
	if j.strip == 0 {
		return name[2:]
	}
	return j.stripped(name)
}

func (j *patchJob) oldGone() int {
	if j.back {
		return j.part.NewGone
	}
	return j.part.OldGone
}

func (j *patchJob) newGone() int {
	if j.back {
		return j.part.OldGone
	}
	return j.part.NewGone
}
