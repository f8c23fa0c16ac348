//go:build !linux

package keeper

import "context"

// Supported reports whether this system has what a parent needs.
const Supported = false

// Run is a service of Linux.
func Run(context.Context, Config) error { panic("keeper: not on this system") }

func inherit() (*Worker, error) { return nil, errNotInherited }
