package shell

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// procFS is the sandbox's tree with a /proc in it and the descriptors of the process that asks in /dev/fd. What is in
// /proc is made up from the processes of the exec and the machine that a sandbox says it is; nothing of it comes from
// the host. The directory is not listed in /, so that what walks the whole tree stays in it.
type procFS struct {
	vfs.FS
	x *exec
	p *proc.Process // who asks; nil is a shell
}

// procNode is a file, directory or symbolic link of /proc.
type procNode struct {
	kind   vfs.Kind
	text   func() string
	target string
	err    error // of reading it
	list   func() []string
}

func procText(f func() string) *procNode { return &procNode{kind: vfs.Regular, text: f} }
func procLink(target string) *procNode   { return &procNode{kind: vfs.Symlink, target: target} }
func procDir(names ...string) *procNode {
	return &procNode{kind: vfs.Dir, list: func() []string { return names }}
}

const (
	maxFD        = 256 // descriptors that are shown
	maxProcLinks = 40
)

func (f *procFS) self() int {
	if f.p != nil {
		return f.p.PID
	}
	return f.x.cfg.PID
}

// inside says whether a path is one of these, in the spelling that lookup takes: "/proc…", without dots.
func (f *procFS) inside(name string) (string, bool) {
	if strings.HasPrefix(name, "/dev/") {
		switch clean := path.Clean(name); {
		case clean == "/dev/stdin" || clean == "/dev/stdout" || clean == "/dev/stderr":
			return "/proc/" + clean[len("/dev/"):], true
		case clean == "/dev/fd" || strings.HasPrefix(clean, "/dev/fd/"):
			return "/proc/" + strconv.Itoa(f.self()) + clean[len("/dev"):], true
		}
	}
	if !strings.Contains(name, "/proc") {
		return "", false
	}
	clean := path.Clean(name)
	return clean, clean == "/proc" || strings.HasPrefix(clean, "/proc/")
}

// find resolves a path: to a node, or to a path outside of /proc.
func (f *procFS) find(name string, follow bool) (n *procNode, at string, err error) {
	for range maxProcLinks {
		clean, in := f.inside(name)
		if !in {
			return nil, name, nil
		}
		parts := strings.Split(strings.TrimPrefix(clean[len("/proc"):], "/"), "/")
		if clean == "/proc" {
			return f.root(), clean, nil
		}
		next := ""
		for i := range parts {
			n = f.lookup(parts[:i+1])
			last := i == len(parts)-1
			switch {
			case n == nil:
				return nil, clean, vfs.ENOENT
			case n.kind == vfs.Symlink && n.err != nil && (!last || follow):
				return nil, clean, n.err
			case n.kind == vfs.Symlink && (!last || follow):
				next = n.target
				if !strings.HasPrefix(next, "/") {
					next = "/proc/" + strings.Join(append(slices.Clone(parts[:i]), next), "/")
				}
				next += strings.TrimSuffix("/"+strings.Join(parts[i+1:], "/"), "/")
			case n.kind != vfs.Dir && !last:
				return nil, clean, vfs.ENOTDIR
			}
			if next != "" {
				break
			}
		}
		if next == "" {
			return n, clean, nil
		}
		name = next
	}
	return nil, name, vfs.ELOOP
}

func (f *procFS) root() *procNode {
	return &procNode{kind: vfs.Dir, list: func() []string {
		var names []string
		for _, p := range f.x.processes() {
			names = append(names, strconv.Itoa(p.PID))
		}
		return append(append(names, "self", "sys"), slices.Collect(maps.Keys(procFiles))...)
	}}
}

// lookup is the node of a path below /proc.
func (f *procFS) lookup(parts []string) *procNode {
	name := strings.Join(parts, "/")
	switch name {
	case "self", "thread-self":
		return procLink(strconv.Itoa(f.self()))
	case "mounts":
		return procLink("self/mounts")
	case "stdin", "stdout", "stderr":
		return procLink("/proc/self/fd/" + strconv.Itoa(strings.Index("stdin stdout stderr", name)/6))
	}
	if file := procFiles[name]; file != nil {
		return procText(func() string { return file(f.x) })
	}
	if parts[0] == "sys" {
		return f.sys(name)
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || strconv.Itoa(pid) != parts[0] {
		return nil
	}
	for _, info := range f.x.processes() {
		if info.PID == pid {
			return f.process(info, parts[1:])
		}
	}
	if pid == f.self() && f.p != nil { // a child of a program is not listed
		return f.process(proc.Info{PID: pid, PPID: f.x.cfg.PID, Args: f.p.Args, Start: f.x.start}, parts[1:])
	}
	return nil
}

// sys is a node of /proc/sys, whose directories are those of its files.
func (f *procFS) sys(name string) *procNode {
	if file := procSettings[name]; file != nil {
		return procText(func() string { return file(f.x) })
	}
	below := map[string]bool{}
	for k := range procSettings {
		if rest, ok := strings.CutPrefix(k, name+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			below[first] = true
		}
	}
	if len(below) == 0 {
		return nil
	}
	return procDir(slices.Sorted(maps.Keys(below))...)
}

// process is a node of a process's directory. Its environment, directory and descriptors are those of the process that
// asks, and of the shell that it was started by, which has the same; those of others are refused.
func (f *procFS) process(info proc.Info, parts []string) *procNode {
	if len(parts) == 0 {
		return procDir("cgroup", "cmdline", "comm", "cwd", "environ", "exe", "fd", "mounts", "root", "stat", "status")
	}
	name := strings.Join(parts, "/")
	own := f.p != nil && (info.PID == f.p.PID || info.PID == f.x.cfg.PID)
	switch name {
	case "cgroup":
		return procText(func() string { return "0::/\n" })
	case "mounts":
		return procText(func() string {
			return "sandbox / pgbox rw,relatime 0 0\nproc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n"
		})
	case "cmdline":
		return procText(func() string { return strings.Join(info.Args, "\x00") + "\x00" })
	case "comm":
		return procText(func() string { return procName(info) + "\n" })
	case "stat":
		return procText(func() string { return f.stat(info) })
	case "status":
		return procText(func() string { return f.status(info) })
	case "root":
		return procLink("/")
	case "exe":
		return procLink("/usr/bin/" + procName(info))
	case "cwd":
		if own {
			return procLink(f.p.Dir)
		}
		return &procNode{kind: vfs.Symlink, err: vfs.EACCES}
	case "environ":
		if own {
			return procText(func() string { return strings.Join(append(f.p.Env.List(), ""), "\x00") })
		}
		return &procNode{kind: vfs.Regular, err: vfs.EACCES}
	case "fd":
		if own {
			return &procNode{kind: vfs.Dir, list: f.descriptors}
		}
		return &procNode{kind: vfs.Dir, err: vfs.EACCES}
	}
	if n, err := strconv.Atoi(parts[len(parts)-1]); err == nil && own && len(parts) == 2 && parts[0] == "fd" && n >= 0 &&
		n < maxFD {
		if s, ok := f.p.FD(n); ok {
			return procLink(streamName(s, n))
		}
	}
	return nil
}

func (f *procFS) descriptors() []string {
	var names []string
	for n := range maxFD {
		if _, ok := f.p.FD(n); ok {
			names = append(names, strconv.Itoa(n))
		}
	}
	return names
}

// streamName is where the link of a descriptor leads.
func streamName(s any, n int) string {
	if h, ok := s.(*fileHandle); ok {
		return h.s.path
	}
	return fmt.Sprintf("pipe:[%d]", 1<<16+n)
}

func procName(i proc.Info) string {
	if len(i.Args) == 0 {
		return "bash"
	}
	return i.Args[0][strings.LastIndexByte(i.Args[0], '/')+1:]
}

func (f *procFS) state(i proc.Info) string {
	if i.PID == f.self() {
		return "R"
	}
	return "S"
}

func (f *procFS) status(i proc.Info) string {
	state := map[string]string{"R": "R (running)", "S": "S (sleeping)"}[f.state(i)]
	u, kb := f.x.cfg.User, f.x.budget.Live()>>10
	return fmt.Sprintf("Name:\t%s\nUmask:\t0022\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n"+
		"Uid:\t%[7]d\t%[7]d\t%[7]d\t%[7]d\nGid:\t%[8]d\t%[8]d\t%[8]d\t%[8]d\nFDSize:\t%[9]d\nGroups:\t%[8]d \n"+
		"VmPeak:\t%8[10]d kB\nVmSize:\t%8[11]d kB\nVmHWM:\t%8[10]d kB\nVmRSS:\t%8[11]d kB\nThreads:\t1\n"+
		"SigPnd:\t%016[12]x\nShdPnd:\t%016[12]x\nSigBlk:\t%016[12]x\nSigIgn:\t%016[12]x\nSigCgt:\t%016[12]x\n",
		procName(i), state, i.PID, i.PID, i.PPID, 0, u.UID, u.GID, maxFD, f.x.budget.Peak()>>10, kb, 0)
}

func (f *procFS) stat(i proc.Info) string {
	began := max(i.Start.Sub(f.x.start).Milliseconds()/10, 0)
	return fmt.Sprintf("%d (%s) %s %d %[1]d %d 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 %d %d %d 18446744073709551615"+
		strings.Repeat(" 0", 27)+"\n",
		i.PID, procName(i), f.state(i), i.PPID, f.x.cfg.PID, began, f.x.budget.Live(), f.x.budget.Live()>>12)
}

// procFiles are the files of /proc itself; their values agree with nproc, free, uname, uptime and df.
var procFiles = map[string]func(*exec) string{
	"cmdline":     func(*exec) string { return "quiet\n" },
	"cpuinfo":     cpuinfo,
	"filesystems": func(*exec) string { return "nodev\tproc\nnodev\tpgbox\n" },
	"loadavg": func(x *exec) string {
		return fmt.Sprintf("0.00 0.00 0.00 1/%d %d\n", len(x.processes()), x.pid.Load())
	},
	"meminfo": meminfo,
	"stat": func(x *exec) string {
		var b strings.Builder
		for _, cpu := range []string{"cpu ", "cpu0", "cpu1"} {
			fmt.Fprintf(&b, "%s %d 0 0 0 0 0 0 0 0 0\n", cpu, x.budget.CPU().Milliseconds()/10)
		}
		fmt.Fprintf(&b, "btime %d\nprocesses %d\nprocs_running 1\nprocs_blocked 0\n", x.start.Unix(), x.pid.Load())
		return b.String()
	},
	"uptime": func(x *exec) string {
		s := x.now().Sub(x.start).Seconds()
		return fmt.Sprintf("%.2f %.2f\n", s, s*proc.Processors)
	},
	"version": func(*exec) string {
		return proc.KernelName + " version " + proc.KernelRelease + " (debian-kernel@lists.debian.org) " +
			proc.KernelVersion + "\n"
	},
}

var procSettings = map[string]func(*exec) string{
	"sys/fs/file-max":                 func(x *exec) string { return fmt.Sprintln(x.budget.Limits.OpenFiles) },
	"sys/kernel/hostname":             func(x *exec) string { return x.cfg.Hostname + "\n" },
	"sys/kernel/osrelease":            func(*exec) string { return proc.KernelRelease + "\n" },
	"sys/kernel/ostype":               func(*exec) string { return proc.KernelName + "\n" },
	"sys/kernel/pid_max":              func(*exec) string { return "4194304\n" },
	"sys/kernel/threads-max":          func(x *exec) string { return fmt.Sprintln(x.budget.Limits.Goroutines) },
	"sys/kernel/version":              func(*exec) string { return proc.KernelVersion + "\n" },
	"sys/vm/overcommit_memory":        func(*exec) string { return "0\n" },
	"sys/vm/swappiness":               func(*exec) string { return "60\n" },
	"sys/net/core/somaxconn":          func(*exec) string { return "4096\n" },
	"sys/fs/inotify/max_user_watches": func(*exec) string { return "0\n" },
}

func cpuinfo(*exec) string {
	var b strings.Builder
	for n := range proc.Processors {
		fmt.Fprintf(&b,
			"processor\t: %d\nvendor_id\t: pgbox\ncpu family\t: 6\nmodel\t\t: 1\nmodel name\t: pgbox sandbox processor\ncpu MHz\t\t: 1000.000\n"+
				"physical id\t: 0\nsiblings\t: %[2]d\ncore id\t\t: %[1]d\ncpu cores\t: %[2]d\nflags\t\t: fpu\nbogomips\t: 2000.00\n\n", n, proc.Processors)
	}
	return b.String()
}

func meminfo(x *exec) string {
	total, live := x.budget.Limits.LiveBytes>>10, x.budget.Live()>>10
	var b strings.Builder
	for _, row := range []struct {
		name string
		kb   int64
	}{{"MemTotal", total}, {"MemFree", total - live}, {"MemAvailable", total - live}, {"Buffers", 0}, {"Cached", 0},
		{"SwapTotal", 0}, {"SwapFree", 0}} {
		fmt.Fprintf(&b, "%-15s %8d kB\n", row.name+":", max(row.kb, 0))
	}
	return b.String()
}

// describe is what stat(2) says of a node.
func (f *procFS) describe(n *procNode, at string) vfs.Stat {
	h := fnv.New64a()
	_, _ = h.Write([]byte(at))
	now := f.x.start.UnixNano()
	st := vfs.Stat{Ino: h.Sum64()>>2 | 1<<62, Kind: n.kind, Mode: 0o444, Nlink: 1, Mtime: now, Ctime: now}
	switch n.kind {
	case vfs.Dir:
		st.Mode = 0o555
	case vfs.Symlink:
		st.Mode, st.Size = 0o777, int64(len(n.target))
	default:
		if n.err == nil {
			st.Size = int64(len(n.text()))
		}
	}
	return st
}

func (f *procFS) Stat(name string) (vfs.Stat, error) {
	n, at, err := f.find(name, true)
	if n == nil && err == nil {
		return f.FS.Stat(at)
	}
	if err != nil {
		return vfs.Stat{}, vfs.Wrap("stat", name, err)
	}
	return f.describe(n, at), nil
}

func (f *procFS) Lstat(name string) (vfs.Stat, error) {
	n, at, err := f.find(name, false)
	if n == nil && err == nil {
		return f.FS.Lstat(at)
	}
	if err != nil {
		return vfs.Stat{}, vfs.Wrap("lstat", name, err)
	}
	return f.describe(n, at), nil
}

func (f *procFS) Readlink(name string) (string, error) {
	n, at, err := f.find(name, false)
	switch {
	case n == nil && err == nil:
		return f.FS.Readlink(at)
	case err == nil && n.err != nil:
		err = n.err
	case err == nil && n.kind != vfs.Symlink:
		err = vfs.EINVAL
	case err == nil:
		return n.target, nil
	}
	return "", vfs.Wrap("readlink", name, err)
}

func (f *procFS) Realpath(name string) (string, error) {
	n, at, err := f.find(name, true)
	switch {
	case n == nil && err == nil:
		return f.FS.Realpath(at)
	case err != nil:
		return "", vfs.Wrap("realpath", name, err)
	}
	return at, nil
}

func (f *procFS) ReadDir(name string) ([]vfs.Dirent, error) {
	n, at, err := f.find(name, true)
	switch {
	case n == nil && err == nil:
		return f.FS.ReadDir(at)
	case err == nil && n.kind != vfs.Dir:
		err = vfs.ENOTDIR
	case err == nil:
		err = n.err
	}
	if err != nil {
		return nil, vfs.Wrap("readdir", name, err)
	}
	names := n.list()
	slices.Sort(names)
	out := make([]vfs.Dirent, 0, len(names))
	for _, child := range names {
		if st, err := f.Lstat(at + "/" + child); err == nil {
			out = append(out, vfs.Dirent{Name: child, Ino: st.Ino, Kind: st.Kind})
		}
	}
	return out, nil
}

func (f *procFS) ReadFile(name string) ([]byte, error) {
	n, at, err := f.find(name, true)
	switch {
	case n == nil && err == nil:
		return f.FS.ReadFile(at)
	case err == nil && n.kind == vfs.Dir:
		err = vfs.EISDIR
	case err == nil:
		err = n.err
	}
	if err != nil {
		return nil, vfs.Wrap("open", name, err)
	}
	return []byte(n.text()), nil
}

func (f *procFS) Open(name string, flag int, perm uint32) (vfs.File, error) {
	n, at, err := f.find(name, flag&vfs.NoFollow == 0)
	switch {
	case n == nil && err == nil:
		return f.FS.Open(at, flag, perm)
	case err == nil && n.kind == vfs.Symlink:
		err = vfs.ELOOP
	case err == nil && flag&(vfs.WriteOnly|vfs.ReadWrite) != 0:
		err = vfs.EACCES
	case err == nil && n.kind != vfs.Dir && flag&vfs.Directory != 0:
		err = vfs.ENOTDIR
	case err == nil:
		err = n.err
	}
	if err != nil {
		return nil, vfs.Wrap("open", name, err)
	}
	file := &procFile{st: f.describe(n, at)}
	if n.kind != vfs.Dir {
		file.Reader = bytes.NewReader([]byte(n.text()))
	}
	return file, nil
}

// Mkdir refuses to hide what is here.
func (f *procFS) Mkdir(name string, perm uint32) error {
	n, _, err := f.find(name, false)
	if n != nil || err != nil {
		if err == nil {
			err = vfs.EEXIST
		}
		return vfs.Wrap("mkdir", name, err)
	}
	return f.FS.Mkdir(name, perm)
}

// procFile is an open file of /proc; Reader is nil for a directory.
type procFile struct {
	*bytes.Reader
	st vfs.Stat
}

func (f *procFile) Read(b []byte) (int, error) {
	if f.Reader == nil {
		return 0, vfs.EISDIR
	}
	return f.Reader.Read(b)
}

func (f *procFile) ReadAt(b []byte, at int64) (int, error) {
	if f.Reader == nil {
		return 0, vfs.EISDIR
	}
	return f.Reader.ReadAt(b, at)
}

func (f *procFile) Seek(offset int64, whence int) (int64, error) {
	if f.Reader == nil {
		return 0, nil
	}
	return f.Reader.Seek(offset, whence)
}

func (f *procFile) Write([]byte) (int, error)          { return 0, vfs.EBADF }
func (f *procFile) WriteAt([]byte, int64) (int, error) { return 0, vfs.EBADF }
func (f *procFile) Truncate(int64) error               { return vfs.EINVAL }
func (f *procFile) Close() error                       { return nil }
func (f *procFile) Stat() (vfs.Stat, error)            { return f.st, nil }
