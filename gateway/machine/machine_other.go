//go:build !linux

package machine

import (
	"context"

	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// Supported reports whether this system has what machines need.
const Supported = false

// Config of a [Pool].
type Config struct {
	Sandbox               confine.Mode
	Dir, Executable       string
	Programs              []string
	Most, PerOwner, Queue int
}

// Pool hands machines out.
type Pool struct{}

// NewPool is a service of Linux.
func NewPool(Config) (*Pool, error) { return nil, errSystem }

// Get is a service of Linux.
func (*Pool) Get(context.Context, string, string) (proc.Machine, error) { return nil, errSystem }

// Source is a service of Linux.
func (*Pool) Source() func(context.Context, string, string) (proc.Machine, error) { return nil }

// Close ends all machines.
func (*Pool) Close() {}

func nurseLoop(...string) error { return errSystem }

func inherited() (interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
}, error) {
	return nil, errSystem
}
