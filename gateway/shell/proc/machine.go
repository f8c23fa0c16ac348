package proc

// The machine that every sandbox says it is; its host name and user are the exec's.
const (
	KernelName    = "Linux"
	KernelRelease = "6.1.0-28-amd64"
	KernelVersion = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)"
	MachineName   = "x86_64"
	Processors    = 2
)
