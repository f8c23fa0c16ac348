package archive

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const (
	arMagic  = "!<arch>\n"
	arHeader = 60
	arUsage  = `Usage: ar [-]{dpqrstx}[abcDfioPsSuUvV] archive-file file...
 commands:
  d            - delete file(s) from the archive
  p            - print file(s) found in the archive
  q            - quick append file(s) to the archive
  r            - replace existing or insert new file(s) into the archive
  s            - act as ranlib
  t            - display contents of the archive
  x            - extract file(s) from the archive
`
)

// arMember is a file in an archive.
type arMember struct {
	name     string
	mtime    int64
	uid, gid int
	mode     uint32
	data     []byte
}

// arRun is an ar command line.
type arRun struct {
	p                                  *proc.Process
	archive                            string
	members                            []arMember
	verbose, quiet, dates, real, newer bool
	status                             int
}

func ar(_ context.Context, p *proc.Process) int {
	args := p.Args[1:]
	if len(args) > 0 {
		switch args[0] {
		case "--version", "V", "-V":
			p.Out.WriteString("GNU ar (GNU Binutils for Debian) 2.40\nThis is pgbox's own implementation, compatible with that version.\n")
			return 0
		case "--help", "-h":
			p.Out.WriteString(arUsage)
			return 0
		}
	}
	r := &arRun{p: p}
	var op rune
	for first := true; len(args) > 0 && (first || len(args[0]) > 1 && args[0][0] == '-'); first = false {
		for _, c := range strings.TrimPrefix(args[0], "-") {
			switch c {
			case 'd', 'p', 'q', 'r', 't', 'x':
				if op != 0 && op != c {
					p.Errorf("two different operation options specified")
					return 1
				}
				op = c
			case 's':
				if op == 0 {
					op = 's'
				}
			case 'v':
				r.verbose = true
			case 'c':
				r.quiet = true
			case 'o':
				r.dates = true
			case 'U':
				r.real = true
			case 'u':
				r.newer = true
			case 'D', 'S', 'f', 'P', 'l':
			default:
				p.Errorf("invalid option -- '%c'", c)
				p.Err.WriteString(arUsage)
				return 1
			}
		}
		args = args[1:]
	}
	if op == 0 {
		p.Err.WriteString(arUsage)
		return 1
	}
	if len(args) == 0 {
		p.Err.WriteString(arUsage)
		return 1
	}
	r.archive, args = args[0], args[1:]
	data, err := p.ReadFile(r.archive)
	held := len(data)
	p.Hold(held)
	defer func() { p.Release(held) }()
	switch {
	case err != nil && (op == 'r' || op == 'q'):
		if !r.quiet {
			p.Errorf("creating %s", r.archive)
		}
	case err != nil:
		p.Errorf("%s: %s", r.archive, proc.Strerror(err))
		return 9
	default:
		if r.members, err = arRead(data); err != nil {
			p.Errorf("%s: %v", r.archive, err)
			return 1
		}
	}
	switch op {
	case 't', 'p', 'x':
		r.each(args, op)
	case 'd':
		r.remove(args)
		r.write()
	case 's':
		r.write()
	default:
		for _, name := range args {
			held += r.add(name, op == 'q')
			if r.status != 0 {
				return r.status
			}
		}
		r.write()
	}
	return r.status
}

func arRead(data []byte) ([]arMember, error) {
	unknown := fmt.Errorf("file format not recognized")
	if !bytes.HasPrefix(data, []byte(arMagic)) {
		return nil, unknown
	}
	var out []arMember
	var names []byte
	for at := len(arMagic); at < len(data); {
		if at+arHeader > len(data) {
			return nil, fmt.Errorf("malformed archive")
		}
		h := string(data[at : at+arHeader])
		field := func(from, to int) string { return strings.TrimRight(h[from:to], " ") }
		size, err := strconv.Atoi(field(48, 58))
		at += arHeader
		if err != nil || size < 0 || size > len(data)-at || h[58:] != "`\n" {
			return nil, fmt.Errorf("malformed archive")
		}
		body := data[at : at+size]
		at += size + size&1
		name := field(0, 16)
		switch {
		case name == "/" || name == "/SYM64/":
			continue
		case name == "//":
			names = body
			continue
		case strings.HasPrefix(name, "#1/"):
			n, err := strconv.Atoi(name[3:])
			if err != nil || n < 0 || n > len(body) {
				return nil, fmt.Errorf("malformed archive")
			}
			name, body = strings.TrimRight(string(body[:n]), "\x00"), body[n:]
		case len(name) > 1 && name[0] == '/':
			n, err := strconv.Atoi(name[1:])
			if err != nil || n < 0 || n >= len(names) {
				return nil, fmt.Errorf("malformed archive")
			}
			long, _, _ := strings.Cut(string(names[n:]), "\n")
			name = strings.TrimSuffix(long, "/")
		default:
			name = strings.TrimSuffix(name, "/")
		}
		m := arMember{name: name, data: body}
		m.mtime, _ = strconv.ParseInt(field(16, 28), 10, 64)
		m.uid, _ = strconv.Atoi(field(28, 34))
		m.gid, _ = strconv.Atoi(field(34, 40))
		mode, _ := strconv.ParseUint(field(40, 48), 8, 32)
		m.mode = uint32(mode)
		out = append(out, m)
	}
	return out, nil
}

// each shows, prints or extracts the members that are named, or all.
func (r *arRun) each(names []string, op rune) {
	p := r.p
	for _, m := range r.members {
		p.Tick(1)
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return program.ParallelBase(n) == m.name }) {
			continue
		}
		switch op {
		case 't':
			if r.verbose {
				stamp := time.Unix(m.mtime, 0).UTC().Format("Jan _2 15:04 2006")
				fmt.Fprintf(p.Out, "%s %d/%d %6d %s ", program.ModeString(m.mode&0o7777), m.uid, m.gid, len(m.data), stamp)
			}
			p.Out.WriteString(m.name + "\n")
		case 'p':
			if r.verbose {
				p.Out.WriteString("\n<" + m.name + ">\n\n")
			}
			p.Out.Write(m.data)
		case 'x':
			if r.verbose {
				p.Out.WriteString("x - " + m.name + "\n")
			}
			r.extract(m)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(r.members, func(m arMember) bool { return m.name == program.ParallelBase(n) }) {
			p.Out.Flush()
			p.Err.WriteString("no entry " + n + " in archive\n")
		}
	}
}

func (r *arRun) extract(m arMember) {
	p := r.p
	if m.name == "" || m.name == "." || m.name == ".." || strings.Contains(m.name, "/") {
		p.Errorf("illegal output pathname for archive member: %s", m.name)
		r.status = 1
		return
	}
	f, err := p.Open(m.name, vfs.WriteOnly|vfs.Create|vfs.Trunc, m.mode&0o777)
	if err == nil {
		_, err = f.Write(m.data)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err == nil && r.dates {
		err = p.FS.Utimes(p.Abs(m.name), m.mtime*1e9, true)
	}
	if err != nil {
		p.Errorf("%s: %s", m.name, proc.Strerror(err))
		r.status = 1
	}
}

func (r *arRun) remove(names []string) {
	for _, n := range names {
		i := slices.IndexFunc(r.members, func(m arMember) bool { return m.name == program.ParallelBase(n) })
		switch {
		case i >= 0:
			if r.verbose {
				r.p.Out.WriteString("d - " + n + "\n")
			}
			r.members = slices.Delete(r.members, i, i+1)
		case r.verbose:
			r.p.Out.WriteString("No member named `" + n + "'\n")
		}
	}
}

// add puts a file into the archive, in place of the member of its name unless quick. It returns how many bytes it
// holds.
func (r *arRun) add(name string, quick bool) int {
	p := r.p
	st, err := p.Stat(name)
	if err == nil && st.IsDir() {
		p.Errorf("%s is a directory", program.Quote(name))
		r.status = 1
		return 0
	}
	var data []byte
	if err == nil {
		data, err = p.ReadFile(name)
	}
	if err != nil {
		p.Errorf("%s: %s", name, proc.Strerror(err))
		r.status = 1
		return 0
	}
	p.Hold(len(data))
	m := arMember{name: program.ParallelBase(name), data: data, mode: 0o644}
	if r.real {
		m.mtime, m.mode, m.uid, m.gid = st.Mtime/1e9, st.Mode|0o100000, int(st.UID), int(st.GID)
	}
	i := slices.IndexFunc(r.members, func(o arMember) bool { return o.name == m.name })
	if i < 0 || quick {
		if r.verbose {
			p.Out.WriteString("a - " + name + "\n")
		}
		r.members = append(r.members, m)
		return len(data)
	}
	if r.newer && r.members[i].mtime >= st.Mtime/1e9 {
		return len(data)
	}
	if r.verbose {
		p.Out.WriteString("r - " + name + "\n")
	}
	r.members[i] = m
	return len(data)
}

func (r *arRun) write() {
	var b, names bytes.Buffer
	for _, m := range r.members {
		if len(m.name) > 15 {
			names.WriteString(m.name + "/\n")
		}
	}
	b.WriteString(arMagic)
	if names.Len() > 0 {
		if names.Len()%2 == 1 {
			names.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-48s%-10d`\n", "//", names.Len())
		b.Write(names.Bytes())
	}
	long := 0
	for _, m := range r.members {
		r.p.Tick(1 + len(m.data)>>10)
		name := m.name + "/"
		if len(name) > 16 {
			name = "/" + strconv.Itoa(long)
			long += len(m.name) + 2
		}
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", name, m.mtime, m.uid, m.gid, m.mode, len(m.data))
		b.Write(m.data)
		if len(m.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	f, err := r.p.Open(r.archive, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err == nil {
		_, err = f.Write(b.Bytes())
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		r.p.Errorf("%s: %s", r.archive, proc.Strerror(err))
		r.status = 1
	}
}
