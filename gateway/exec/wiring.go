package exec

import "github.com/pgbox/pgbox/gateway/fserr"

// Service runs scripts and verbs in sandboxes.
type Service struct{}

var errNotWired error = newError(fserr.CodeUnavailable, nil, "not connected to a store")
