package confine

import (
	"errors"
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed is what Go's runtime, its net package, and os for reading use, and the C library where a build has one. The
// names that an architecture does not have are left out.
var allowed = []string{
	// memory
	"brk", "madvise", "mincore", "mmap", "mprotect", "mremap", "munmap", "membarrier",
	// threads, time, signals to itself
	"exit", "exit_group", "futex", "futex_waitv", "get_robust_list", "set_robust_list", "set_tid_address", "rseq",
	"restart_syscall",
	"sched_getaffinity", "sched_yield", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday",
	"time",
	"timer_create", "timer_settime", "timer_delete", "setitimer", "getitimer", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "rt_sigtimedwait",
	"sigaltstack", "getrandom",
	// who and where this is
	"getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getrlimit", "prlimit64", "getrusage",
	"times", "uname", "sysinfo", "getcwd",
	// files that Landlock lets through
	"open", "openat", "close", "close_range", "read", "readv", "pread64", "preadv", "write", "writev", "pwrite64", "lseek",
	"stat", "lstat", "fstat",
	"newfstatat", "statx", "fstatfs", "statfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
	"getdents64", "fcntl", "dup", "dup2",
	"dup3", "pipe", "pipe2", "fadvise64", "sendfile", "splice", "copy_file_range",
	// sockets; socket itself, sendto and sendmsg are below
	"connect", "accept", "accept4", "getsockname", "getpeername", "setsockopt", "getsockopt", "recvfrom", "recvmsg",
	"recvmmsg", "shutdown",
	"poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
	"eventfd2",
}

// parents is what a process that starts others uses besides, and what those use until they confine themselves.
var parents = []string{
	"execve", "fork", "vfork", "wait4", "waitid", "kill", "pidfd_open", "pidfd_send_signal", "setpgid", "setrlimit",
	"setpriority", "chdir", "bind", "listen",
	"memfd_create", "ftruncate", "arch_prctl", "seccomp", "landlock_create_ruleset", "landlock_add_rule",
	"landlock_restrict_self", "socketpair",
	"ioctl",
}

// Flags of clone(2) that make a namespace.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID |
	unix.CLONE_NEWNET

// filter puts the list of system calls in force on every thread.
func filter(needs Needs) error {
	if !seccomp.Supported() {
		return errors.New("this kernel has no filter of system calls")
	}
	policy, err := policy(needs)
	if err != nil {
		return err
	}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
}

func policy(needs Needs) (seccomp.Policy, error) {
	machine, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Policy{}, err
	}
	names := allowed
	parent := len(needs.Programs) > 0
	if parent {
		names = append(append([]string(nil), allowed...), parents...)
	}
	allow := seccomp.SyscallGroup{Action: seccomp.ActionAllow}
	for _, name := range names {
		if _, ok := machine.SyscallNames[name]; ok {
			allow.Names = append(allow.Names, name)
		}
	}
	when := func(name string, conditions ...seccomp.Condition) {
		allow.NamesWithCondtions = append(allow.NamesWithCondtions,
			seccomp.NameWithConditions{Name: name, Conditions: conditions})
	}
	is := func(argument uint32, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.Equal, Value: value}
	}
	not := func(argument uint32, bits uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsNotSet, Value: bits}
	}
	var families []uint64
	if !needs.Offline {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	if needs.Unix || parent {
		families = append(families, unix.AF_UNIX)
	}
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	for _, family := range families {
		for _, kind := range []uint64{unix.SOCK_STREAM | flags, unix.SOCK_DGRAM | flags} {
			for _, protocol := range []uint64{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
				if family != unix.AF_UNIX || protocol == 0 {
					when("socket", is(0, family), is(1, kind), is(2, protocol))
				}
			}
		}
	}
	// With this flag a send connects, and no rule of Landlock sees it.
	when("sendto", not(3, unix.MSG_FASTOPEN))
	when("sendmsg", not(2, unix.MSG_FASTOPEN))
	when("sendmmsg", not(3, unix.MSG_FASTOPEN))
	// A parent starts processes; anyone else only threads.
	if parent {
		when("clone", not(0, namespaces))
		// with the C library a process confines its threads by tkill
		allow.Names = append(allow.Names, "prctl", "tgkill", "tkill")
	} else {
		when("clone", seccomp.Condition{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD},
			not(0, namespaces))
		when("tgkill", is(0, uint64(os.Getpid())))
		when("prctl", is(0, unix.PR_SET_VMA)) // the runtime names its memory
	}
	// C libraries fall back to clone, whose flags can be seen.
	missing := seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}}
	return seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, // EPERM
		Syscalls:      []seccomp.SyscallGroup{allow, missing},
	}, nil
}
