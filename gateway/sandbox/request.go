package sandbox

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/wire"
)

// Caller is who asks, as authentication found out, and through which route.
type Caller struct {
	Tenant  string // a sandbox of another tenant does not exist for the caller
	Subject string // compared with the sandbox's owner
	// which of the caller's agents asks, for the audit log: at most MaxAgent characters; "": the client does not say
	Agent string
	Route string // for the audit log: "exec-sync", "mcp", …
	// MaxStaleness lets a read see the sandbox as it was up to that long ago, which spares it the question to the database
	// when the cache is known to be current enough; 0: as last committed. Writes always see what was last committed.
	MaxStaleness time.Duration
	// At lets a read see an earlier state of the sandbox: a snapshot by name or id, "@base", a version, a time (RFC 3339).
	// "": the present one.
	At  string
	Key *Key // makes this request safe to repeat, where it creates, forks, runs or ingests; may be nil
}

// MaxAgent is how long the name of an agent may be, in characters.
const MaxAgent = 128

// AgentHeader is the header of a request that names the agent.
const AgentHeader = "X-Agent"

// CheckAgent says what is wrong with the name of an agent.
func CheckAgent(name string) error {
	if utf8.RuneCountInString(name) > MaxAgent || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
		return newError(wire.CodeInvalidInput, nil, fmt.Sprintf("agent: at most %d characters of UTF-8", MaxAgent))
	}
	return nil
}

// Request is one bash run.
type Request struct {
	Sandbox uuid.UUID
	Caller  Caller
	Script  string
	Cwd     string            // absolute; "" is where the last exec left off. Not remembered when given
	Env     map[string]string // for this run only
	Stdin   io.Reader         // nil: /dev/null; else a pipe, even an empty one
	Linger  time.Duration     // how long background processes may go on when the script has ended; 0 ends them with it
	Timeout time.Duration     // wall clock; 0 is the configured default, more than the configured maximum is cut

	Debug    bool // set -x
	Session  Session
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
	// BackgroundEnded is how many background processes were still running when the script had ended, and were ended with
	// it.
	BackgroundEnded int
}

// BatchRequest is several scripts for one sandbox.
type BatchRequest struct {
	Sandbox       uuid.UUID
	Caller        Caller
	Scripts       []BatchScript
	Timeout       time.Duration // for all of them together; 0: the configured default
	ScriptTimeout time.Duration // for each; 0: what is left of Timeout
	Session       Session       // as in Request
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
