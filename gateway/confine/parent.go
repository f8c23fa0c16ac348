package confine

import (
	"debug/elf"
	"os"
)

// Parent adds what it takes to start this executable again.
func (n Needs) Parent() (Needs, error) {
	self, err := os.Executable()
	if err != nil {
		return n, err
	}
	n.Read = append([]string{"/proc"}, n.Read...) // each process has a number of its own
	n.Programs = []string{self}
	if f, err := elf.Open(self); err == nil {
		defer func() { _ = f.Close() }()
		if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
			n.Programs = append(n.Programs, "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
		}
	}
	return n, nil
}
