package proc

import (
	"slices"
	"strings"
)

// Variables is an environment made by a command for its child.
type Variables []string

// Variables returns a copy of the process's environment, to change it.
func (p *Process) Variables() Variables { return slices.Clone(p.Env.List()) }

// Get returns the value of a variable.
func (e Variables) Get(name string) (string, bool) {
	for _, kv := range e {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// List returns the variables as NAME=value.
func (e Variables) List() []string { return e }

// Set sets a variable, given as NAME=value.
func (e Variables) Set(kv string) Variables {
	name, _, _ := strings.Cut(kv, "=")
	if i := e.index(name); i >= 0 {
		e[i] = kv
		return e
	}
	return append(e, kv)
}

// Unset removes a variable.
func (e Variables) Unset(name string) Variables {
	if i := e.index(name); i >= 0 {
		return slices.Delete(e, i, i+1)
	}
	return e
}

func (e Variables) index(name string) int {
	return slices.IndexFunc(e, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}
