package archive

import (
	stdtar "archive/tar"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

func (t *tarRun) user(id uint32) string {
	if t.users == nil {
		t.users = t.names("/etc/passwd")
	}
	if n, ok := t.users[id]; ok {
		return n
	}
	if id == t.p.User.UID {
		return t.p.User.Name
	}
	return ""
}

func (t *tarRun) groupName(id uint32) string {
	if t.groups == nil {
		t.groups = t.names("/etc/group")
	}
	if n, ok := t.groups[id]; ok {
		return n
	}
	if id == t.p.User.GID {
		return t.p.User.Group
	}
	return ""
}

// display shows a member under the name it has on the outside, or with --show-transformed-names the other one.
func (t *tarRun) display(h *stdtar.Header, original string, level int) {
	if !t.transformed && original != h.Name {
		c := *h
		c.Name = original
		h = &c
	}
	t.show(h, t.listTo, level)
}

// show prints a member as -t and -v do; level 1 is the name, 2 the long form.
func (t *tarRun) show(h *stdtar.Header, w io.Writer, level int) {
	if level == 0 {
		return
	}
	if t.blocks {
		_, _ = fmt.Fprintf(w, "block %d: ", t.at/tarBlock)
	}
	if level == 1 {
		_, _ = fmt.Fprintln(w, t.quoteName(h.Name))
		return
	}
	kind, note := "-", ""
	switch h.Typeflag {
	case stdtar.TypeDir:
		kind = "d"
	case stdtar.TypeSymlink:
		kind, note = "l", " -> "+t.quoteName(h.Linkname)
	case stdtar.TypeLink:
		kind, note = "h", " link to "+t.quoteName(h.Linkname)
	case stdtar.TypeChar:
		kind = "c"
	case stdtar.TypeBlock:
		kind = "b"
	case stdtar.TypeFifo:
		kind = "p"
	case 'V':
		kind, note = "V", "--Volume Header--"
	}
	owner, group := h.Uname, h.Gname
	if owner == "" || t.numeric {
		owner = strconv.Itoa(h.Uid)
	}
	if group == "" || t.numeric {
		group = strconv.Itoa(h.Gid)
	}
	size := strconv.FormatInt(h.Size, 10)
	if h.Typeflag == stdtar.TypeChar || h.Typeflag == stdtar.TypeBlock {
		size = fmt.Sprintf("%d,%d", h.Devmajor, h.Devminor)
	}
	who := owner + "/" + group
	t.width = max(t.width, len(who)+1+len(size))
	layout := "2006-01-02 15:04"
	if t.fullTime {
		layout = "2006-01-02 15:04:05"
	}
	when := h.ModTime.In(t.zone()).Format(layout)
	_, _ = fmt.Fprintf(w, "%s%s %s %*s %s %s%s\n", kind, program.ModeString(uint32(h.Mode)), who, t.width-len(who)-1, size,
		when, t.quoteName(h.Name), note)
}

func (t *tarRun) zone() *time.Location {
	if t.utc {
		return time.UTC
	}
	return datetime.Zone(t.p.Getenv("TZ"))
}
