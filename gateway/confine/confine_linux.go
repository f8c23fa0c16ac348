package confine

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// rights of a file that may be executed, and of one that may be written in place.
const (
	readFile = landlock.AccessFSSet(ll.AccessFSReadFile)
	readDir  = landlock.AccessFSSet(ll.AccessFSReadDir)
	execute  = landlock.AccessFSSet(ll.AccessFSExecute)
	write    = landlock.AccessFSSet(ll.AccessFSWriteFile)
)

func enter(needs Needs) (Restrictions, error) {
	var s Restrictions
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case err != nil || abi < 1:
		s.Missing = append(s.Missing, "this kernel has no Landlock, or it is not enabled")
	default:
		if err := restrict(needs); err != nil {
			return s, fmt.Errorf("landlock: %w", err)
		}
		s.Landlock = abi
		if abi < enough {
			s.Missing = append(s.Missing, fmt.Sprintf("Landlock %d does not restrict TCP, which takes %d", abi, enough))
		}
	}
	if err := filter(needs); err != nil {
		s.Missing = append(s.Missing, "seccomp: "+err.Error())
	} else {
		s.Seccomp = true
	}
	return s, nil
}

// restrict puts Landlock in force on every thread. Rules of what does not exist are left out.
func restrict(needs Needs) error {
	var rules []landlock.Rule
	add := func(paths []string, onFile, onDir landlock.AccessFSSet) {
		for _, p := range paths {
			info, err := os.Stat(p)
			switch {
			case err != nil:
			case info.IsDir():
				rules = append(rules, landlock.PathAccess(onDir, p))
			default:
				rules = append(rules, landlock.PathAccess(onFile, p))
			}
		}
	}
	add(needs.Read, readFile, readFile|readDir)
	add(needs.ReadWrite, readFile|write, 0)
	add(needs.Programs, readFile|execute, readFile|readDir|execute)
	for _, p := range needs.ConnectTCP {
		rules = append(rules, landlock.ConnectTCP(uint16(p)))
	}
	cfg := landlock.V9
	if needs.Unix {
		cfg = landlock.V8 // from 9 on sockets with a name are restricted, too, and their directories would have to be known
	}
	// Each thread gets a domain of its own, so the scope of signals would keep a parent from ending what another of its
	// threads has started. Whom a process without children may signal, the filter of system calls says.
	cfg.Scoped &^= ll.ScopeSignal
	return cfg.BestEffort().Restrict(rules...)
}
