package confine

import (
	"errors"
	"fmt"
	"strings"
)

// Needs is what a process keeps.
type Needs struct {
	// Read are files and directories (with all they hold) that may be read. Those that do not exist are passed over.
	Read []string
	// ReadWrite are files that may be read and written, none of which is made.
	ReadWrite []string
	// Programs are files and directories that may be read and executed; a process that has any may start others.
	Programs []string
	// ConnectTCP are the ports that may be connected to, on any host.
	ConnectTCP []int
	// Unix: Unix sockets may be made and connected to. Only kernels from Landlock 9 on can say which.
	Unix bool
	// Offline: no sockets of the Internet are made.
	Offline bool
}

// Restrictions is what is in force.
type Restrictions struct {
	Landlock int      `json:"landlock" doc:"version of the kernel's Landlock interface that restricts files (1), TCP ports (4) and abstract sockets (6); 0: none"`
	Seccomp  bool     `json:"seccomp" doc:"a filter of system calls is in force"`
	Missing  []string `json:"missing,omitempty" doc:"what the kernel does not offer, or why there is nothing"`
}

// enough is the Landlock version that restricts TCP, too.
const enough = 4

// Complete reports whether files, TCP ports and system calls are restricted.
func (s Restrictions) Complete() bool { return s.Landlock >= enough && s.Seccomp }

func (s Restrictions) String() string {
	var have []string
	if s.Landlock > 0 {
		have = append(have, fmt.Sprintf("landlock %d", s.Landlock))
	}
	if s.Seccomp {
		have = append(have, "seccomp")
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return strings.Join(have, ", ")
}

// Mode says what happens when the kernel cannot do it.
type Mode string

// The modes.
const (
	Off      Mode = "off"      // nothing is restricted
	Auto     Mode = "auto"     // as much as the kernel offers
	Required Mode = "required" // all of it, or an error
)

// ErrIncomplete: the kernel cannot restrict all that [Required] asks for.
var ErrIncomplete = errors.New("this process cannot be confined")

// Enter restricts the whole process, for good.
func Enter(mode Mode, needs Needs) (Restrictions, error) {
	if mode == Off {
		return Restrictions{Missing: []string{"turned off"}}, nil
	}
	s, err := enter(needs)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	if mode == Required && !s.Complete() {
		return s, fmt.Errorf("%w: %s", ErrIncomplete, strings.Join(s.Missing, "; "))
	}
	return s, nil
}
