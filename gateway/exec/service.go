package exec

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"
)

// Caller is who asks, as authentication found out, and through which route.
type Caller struct {
	Tenant  string // a sandbox of another tenant does not exist for the caller
	Subject string // compared with the sandbox's owner
	Route   string // for the audit log: "exec-sync", "mcp", …
}

// Request is one bash run.
type Request struct {
	Sandbox uuid.UUID
	Caller  Caller
	Script  string
	Cwd     string            // absolute; "" is where the last exec left off. Not remembered when given
	Env     map[string]string // for this run only
	Stdin   io.Reader         // nil: empty
	Timeout time.Duration     // wall clock; 0 is the configured default, more than the configured maximum is cut

	Debug    bool // set -x
	ReadOnly bool // no lock; any attempt to change a file fails the request with EREADONLY_VIOLATION
	Atomic   bool // a non-zero exit status applies nothing

	// Stdout and Stderr receive the output as the script prints, besides the Result. Each is called by one goroutine at
	// a time. An error they return counts as a client that went away: the run is ended.
	Stdout, Stderr io.Writer
}

// Result is how a bash run ended.
type Result struct {
	Stdout, Stderr []byte
	ExitCode       int
	TimedOut       bool
	Duration       time.Duration
	Version        int64 // the sandbox's version afterwards
	Committed      bool  // the run changed something, and it is in Postgres
	Truncated      bool  // Stdout or Stderr had more than fits: the middle is missing
}

// BatchRequest is several scripts for one sandbox.
type BatchRequest struct {
	Sandbox       uuid.UUID
	Caller        Caller
	Scripts       []BatchScript
	Timeout       time.Duration // for all of them together; 0: the configured default
	ScriptTimeout time.Duration // for each; 0: what is left of Timeout
	ReadOnly      bool          // in parallel on one snapshot; any mutation fails the whole batch
}

// BatchScript is one script of a batch; ID is the client's.
type BatchScript struct {
	ID     string
	Script string
}

// BatchResult is how one script of a batch ended. Err is nil when it ran to its end, whatever its exit
// status; scripts that were never started have ExitCode -1 and Err EXEC_TIMEOUT.
type BatchResult struct {
	ID string
	Result
	Err *Error
}

// Exec runs a script. Writers wait for the sandbox's lock. The result is not nil beside an error when
// the script had started: it holds the output so far.
func (s *Service) Exec(ctx context.Context, r Request) (*Result, error) {
	return nil, errNotWired
}

// ExecBatch runs scripts in sequence, one commit each, the working directory carried from one to the next;
// read-only batches run in parallel on one snapshot. The results are in the order of the scripts. An error
// means that the batch as a whole failed.
func (s *Service) ExecBatch(ctx context.Context, r BatchRequest) ([]BatchResult, error) {
	return nil, errNotWired
}

// Shutdown refuses new work with ESHUTTINGDOWN, waits for what runs until ctx is done, then ends it: what was
// ended has applied nothing.
func (s *Service) Shutdown(ctx context.Context) error { return nil }
