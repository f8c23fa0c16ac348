package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// probe is what the test binary does when it is started as a process to be confined.
const probe = "PGBOX_TEST_CONFINE"

type task struct {
	Mode                 Mode
	Needs                Needs
	Readable, Writable   string // must be allowed
	Dir                  string // where nothing must be allowed
	OpenPort, ClosedPort int
	Outer                *Needs // of a parent's walls, behind which this process has been from the beginning
	NoLandlock           bool   // as on an older kernel
}

func TestMain(m *testing.M) {
	if text := os.Getenv(probe); text != "" {
		var t task
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			panic(err)
		}
		attempt(t)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attempt enters and then tries everything; it prints a line for each: name and outcome.
func attempt(t task) {
	// A goroutine that keeps a thread of its own, which was there before: what is in force is so on all of them.
	type outcome struct{ open, exec error }
	begin, other := make(chan struct{}), make(chan outcome)
	go func() {
		runtime.LockOSThread()
		<-begin
		_, err := os.ReadFile(filepath.Join(t.Dir, "secret"))
		other <- outcome{err, syscall.Exec("/bin/true", []string{"true"}, nil)}
	}()
	if t.NoLandlock && seccomp.Supported() {
		deny := seccomp.SyscallGroup{Action: seccomp.ActionErrno, Names: []string{"landlock_create_ruleset"}}
		err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync,
			Policy: seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{deny}}})
		if err != nil {
			panic(err)
		}
	}
	if t.Outer != nil {
		if _, err := Enter(t.Mode, *t.Outer); err != nil {
			panic(err)
		}
	}
	s, err := Enter(t.Mode, t.Needs)
	say := func(name string, err error) { fmt.Printf("%s: %v\n", name, err) }
	say("enter", err)
	fmt.Printf("status: %d %v\n", s.Landlock, s.Seccomp)
	_, err = os.ReadFile(t.Readable)
	say("read what is needed", err)
	w, err := os.OpenFile(t.Writable, os.O_RDWR, 0)
	if err == nil {
		_, err = w.Write([]byte("x"))
		_ = w.Close()
	}
	say("write what is needed", err)
	secret := filepath.Join(t.Dir, "secret")
	_, err = os.ReadFile(secret)
	say("read", errors.Unwrap(err))
	_, err = os.ReadDir(t.Dir)
	say("list", errors.Unwrap(err))
	_, err = os.OpenFile(secret, os.O_WRONLY, 0)
	say("write", errors.Unwrap(err))
	_, err = os.OpenFile(t.Readable, os.O_WRONLY, 0)
	say("write what is only read", errors.Unwrap(err))
	f, err := os.Create(filepath.Join(t.Dir, "new"))
	say("create", errors.Unwrap(err))
	_ = f
	say("remove", errors.Unwrap(os.Remove(secret)))
	say("rename", syscall.Rename(secret, secret+"2"))
	say("link", syscall.Link(secret, secret+"2"))
	say("chmod", syscall.Chmod(secret, 0o777))
	say("truncate", syscall.Truncate(secret, 0))
	dial := func(port int) error {
		c, err := new(net.Dialer).DialContext(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
		}
		return errno(err)
	}
	say("connect to what is needed", dial(t.OpenPort))
	say("connect", dial(t.ClosedPort))
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	_ = l
	say("listen", errno(err))
	_, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK,
		unix.IPPROTO_MPTCP)
	say("socket of Multipath TCP", err)
	_, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, unix.IPPROTO_UDP)
	say("raw socket", err)
	_, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	say("unix socket", err)
	_, err = syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, 0)
	say("netlink socket", err)
	fast, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	say("socket of TCP", err)
	say("fast open", syscall.Sendto(fast, []byte("x"), unix.MSG_FASTOPEN,
		&syscall.SockaddrInet4{Port: t.ClosedPort, Addr: [4]byte{127, 0, 0, 1}}))
	say("start a program", errors.Unwrap(exec.CommandContext(context.Background(), "/bin/true").Run()))
	_, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD|unix.CLONE_NEWUSER), 0, 0, 0, 0, 0)
	say("clone into a namespace", e)
	name := func(s string) uintptr { return uintptr(unsafe.Pointer(&append([]byte(s), 0)[0])) }
	for _, c := range []struct {
		name string
		nr   uintptr
		args [3]uintptr
	}{
		{"execve", unix.SYS_EXECVE, [3]uintptr{name("/bin/true")}},
		{"execveat", unix.SYS_EXECVEAT, [3]uintptr{0, name("/bin/true")}},
		{"ptrace", unix.SYS_PTRACE, [3]uintptr{unix.PTRACE_TRACEME}},
		{"mount", unix.SYS_MOUNT, [3]uintptr{name("none"), name("/"), name("tmpfs")}},
		{"umount2", unix.SYS_UMOUNT2, [3]uintptr{name("/nothing")}},
		{"pivot_root", unix.SYS_PIVOT_ROOT, [3]uintptr{name("/"), name("/")}},
		{"chroot", unix.SYS_CHROOT, [3]uintptr{name("/")}},
		{"unshare", unix.SYS_UNSHARE, [3]uintptr{unix.CLONE_NEWUSER}},
		{"setns", unix.SYS_SETNS, [3]uintptr{0, 0}},
		{"init_module", unix.SYS_INIT_MODULE, [3]uintptr{}},
		{"finit_module", unix.SYS_FINIT_MODULE, [3]uintptr{}},
		{"delete_module", unix.SYS_DELETE_MODULE, [3]uintptr{name("none")}},
		{"bpf", unix.SYS_BPF, [3]uintptr{}},
		{"kexec_load", unix.SYS_KEXEC_LOAD, [3]uintptr{}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [3]uintptr{}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [3]uintptr{uintptr(os.Getppid())}},
		{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, [3]uintptr{uintptr(os.Getppid())}},
		{"pidfd_open", unix.SYS_PIDFD_OPEN, [3]uintptr{uintptr(os.Getppid())}},
		{"kill", unix.SYS_KILL, [3]uintptr{uintptr(os.Getppid()), 0}},
		{"tgkill", unix.SYS_TGKILL, [3]uintptr{uintptr(os.Getppid()), uintptr(os.Getppid()), 0}},
		{"keyctl", unix.SYS_KEYCTL, [3]uintptr{}},
		{"add_key", unix.SYS_ADD_KEY, [3]uintptr{name("user"), name("k"), name("v")}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [3]uintptr{1}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [3]uintptr{}},
		{"memfd_create", unix.SYS_MEMFD_CREATE, [3]uintptr{name("m")}},
		{"personality", unix.SYS_PERSONALITY, [3]uintptr{0xffffffff}},
		{"prctl", unix.SYS_PRCTL, [3]uintptr{unix.PR_SET_DUMPABLE, 1}},
		{"setuid", unix.SYS_SETUID, [3]uintptr{uintptr(os.Getuid())}},
		{"acct", unix.SYS_ACCT, [3]uintptr{}},
		{"reboot", unix.SYS_REBOOT, [3]uintptr{}},
		{"swapon", unix.SYS_SWAPON, [3]uintptr{name("/nothing")}},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [3]uintptr{}},
		{"mknodat", unix.SYS_MKNODAT, [3]uintptr{0, name("/nothing/n")}},
		{"symlinkat", unix.SYS_SYMLINKAT, [3]uintptr{name("x"), 0, name("/nothing/n")}},
	} {
		_, _, e := syscall.RawSyscall(c.nr, c.args[0], c.args[1], c.args[2])
		say("call "+c.name, e)
	}
	close(begin)
	got := <-other
	say("read on an older thread", errors.Unwrap(got.open))
	say("execve on an older thread", got.exec)
}

func errno(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return err
}

// run starts a process that enters and returns what it printed, by name.
func run(t *testing.T, change func(*task)) map[string]string {
	t.Helper()
	dir := t.TempDir()
	k := task{Mode: Required, Readable: filepath.Join(dir, "open"), Writable: filepath.Join(dir, "rw"),
		Dir: filepath.Join(dir, "closed")}
	if err := os.Mkdir(k.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{k.Readable, k.Writable, filepath.Join(k.Dir, "secret")} {
		if err := os.WriteFile(f, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*int{&k.OpenPort, &k.ClosedPort} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		*p = l.Addr().(*net.TCPAddr).Port
	}
	k.Needs = Needs{Read: []string{k.Readable, filepath.Join(dir, "missing")}, ReadWrite: []string{k.Writable},
		ConnectTCP: []int{k.OpenPort}}
	if change != nil {
		change(&k)
	}
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), probe+"="+string(text))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), ": ")
		said[name] = outcome
	}
	return said
}

// supported reports whether this kernel can do all of it. On one that cannot there are no walls to test, but what is
// said of them is true: a process that asks for all is refused, and one that makes do with less is told what is
// missing.
func supported(t *testing.T) bool {
	t.Helper()
	auto, required := run(t, func(k *task) { k.Mode = Auto }), run(t, func(k *task) { k.Mode = Required })
	landlock, seccomp, _ := strings.Cut(auto["status"], " ")
	abi, err := strconv.Atoi(landlock)
	if err != nil {
		t.Fatalf("status %q", auto["status"])
	}
	complete := abi >= enough && seccomp == "true"
	if auto["enter"] != "<nil>" || (required["enter"] == "<nil>") != complete ||
		!complete && !strings.Contains(required["enter"], ErrIncomplete.Error()) {
		t.Errorf("offered %q: auto %s, required %s", auto["status"], auto["enter"], required["enter"])
	}
	return complete
}

// A kernel that can do less: who asks for all is refused, who makes do is told what is missing, who wants nothing gets
// nothing.
func TestKernelWithoutLandlockIsToldOf(t *testing.T) {
	supported(t)
	for mode, want := range map[Mode]string{Required: "this process cannot be confined: this kernel has no Landlock",
		Auto: "<nil>", Off: "<nil>"} {
		said := run(t, func(k *task) { k.NoLandlock, k.Mode = true, mode })
		if !strings.HasPrefix(said["enter"], want) || said["status"] != fmt.Sprint(0, mode != Off && seccomp.Supported()) {
			t.Errorf("%s: %s, status %s", mode, said["enter"], said["status"])
		}
	}
}

func TestConfinedProcessIsRefusedEverythingElse(t *testing.T) {
	if !supported(t) {
		return
	}
	t.Run("alone", func(t *testing.T) { refused(t, run(t, nil)) })
	t.Run("behind a parent", func(t *testing.T) {
		refused(t, run(t, func(k *task) {
			outer := k.Needs
			outer.Read, outer.Programs = append([]string{"/proc"}, outer.Read...), []string{"/proc/self/exe"}
			k.Outer = &outer
		}))
	})
}

func refused(t *testing.T, said map[string]string) {
	t.Helper()
	allowed := []string{"enter", "read what is needed", "write what is needed", "connect to what is needed",
		"socket of TCP"}
	for name, outcome := range said {
		switch {
		case name == "status":
		case slices.Contains(allowed, name):
			if outcome != "<nil>" {
				t.Errorf("%s: %s", name, outcome)
			}
		case outcome != "operation not permitted" && outcome != "permission denied":
			t.Errorf("%s: %s", name, outcome)
		}
	}
	if len(said) < 60 {
		t.Errorf("only %d attempts were made: the process died\n%v", len(said), said)
	}
}

// What the attempts do without: otherwise the test above would show nothing.
func TestUnconfinedProcessIsNot(t *testing.T) {
	said := run(t, func(k *task) { k.Mode = Off })
	for _, name := range []string{"read", "list", "connect", "listen", "unix socket", "start a program"} {
		if said[name] != "<nil>" {
			t.Errorf("%s: %s", name, said[name])
		}
	}
}

func TestUnixSocketsWhereTheyAreNeeded(t *testing.T) {
	if !supported(t) {
		return
	}
	if said := run(t, func(k *task) { k.Needs.Unix = true }); said["unix socket"] != "<nil>" ||
		said["read"] != "permission denied" {
		t.Errorf("%v", said)
	}
}

func TestParentMayStartItsProgramOnly(t *testing.T) {
	if !supported(t) {
		return
	}
	said := run(t, func(k *task) { k.Needs.Programs = []string{"/proc/self/exe"} })
	for name, want := range map[string]string{"start a program": "permission denied", "read": "permission denied",
		"call ptrace": "operation not permitted", "call mount": "operation not permitted"} {
		if said[name] != want {
			t.Errorf("%s: %s, want %s", name, said[name], want)
		}
	}
}
