// Package config reads the configuration of a gateway process from its
// environment. Every variable is in one table, [sections], with its default and meaning;
// a bad value is one clear error line, and all bad values are reported at once.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/machine"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// Config is everything a gateway process can be told. Sizes are bytes.
type Config struct {
	Host               string
	Port               int
	DatabaseURL        Secret
	DatabaseDirectURL  Secret // migrations and replication: not through a transaction pooler
	DatabaseReplicaURL Secret // a streaming standby, for cold reads; "": none
	DatabasePoolSize   int
	DatabaseExecMode   string // auto, cache_statement, cache_describe or exec
	CacheInvalidation  string // auto, replication or version
	RedisURL           Secret
	AuthSecret         Secret
	AdminSecret        Secret
	Tenants            []string
	TrustProxy         bool
	MCPKey             Secret // of an application that speaks for many users; "": none
	MCPHeader          string // in which it names them
	MCPSubject         string // the user when it does not
	MCPTenant          string
	MCPOrigins         []string
	LogLevel           string
	MetricsAddr        string // where /metrics is instead of beside everything else; "": beside
	Sandbox            confine.Mode
	Runtimes           string // directory of the interpreters that run on machines
	Supervise          bool   // a parent keeps the listening socket and starts the server again

	TreeCacheBytes    int64
	ContentCacheBytes int64
	MemoryLimit       int64 // watchdog: ends the largest exec above this many live bytes
	MaxOutput         int64 // bytes of stdout and of stderr kept by one exec
	MaxPrinted        int64 // bytes of both that end an exec
	MaxFileSize       int64
	// bytes of exported variables and functions that execs leave to the next ones, all sessions of a sandbox together
	MaxState          int64
	Limits            proc.Limits // of one exec
	MaxExecs          int         // running at once in this process
	MaxQueue          int         // waiting at once in this process
	LockTimeout       time.Duration
	LockLease         time.Duration
	ShutdownTimeout   time.Duration
	Housekeeping      time.Duration // between two rounds of it, whichever gateway does them; 0: none
	HousekeepingGrace time.Duration
	FsckInterval      time.Duration // between two checks of all sandboxes, whichever gateway does them; 0: none
	HistoryRetention  time.Duration // of the journal and the audit log; 0: for ever
	JournalMax        int64         // operations kept of one sandbox; 0: all
	SandboxMaxBytes   int64         // default quota of a new sandbox; 0: none
	SandboxMaxInodes  int64
}

// Secret is what must never be printed: a key, or a URL that may hold a password. It prints as what it is not; convert
// it to a string to use it.
type Secret string

const notShown = "(not shown)"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return notShown
}

// GoString is String for %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText is String for encoders and loggers.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

type section struct {
	title     string
	variables []variable
}

type variable struct {
	name   string
	def    string // "": unset
	shown  string // what documents show as the default, if it is not def
	secret bool   // the value is never printed
	help   string
	set    func(c *Config, v string) error
}

func key(p func(*Config) *Secret) func(*Config, string) error {
	return func(c *Config, v string) error {
		if len(v) < auth.MinSecret {
			return fmt.Errorf("want at least %d bytes", auth.MinSecret)
		}
		*p(c) = Secret(v)
		return nil
	}
}

func text(p func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error { *p(c) = v; return nil }
}

func list(p func(*Config) *[]string) func(*Config, string) error {
	return func(c *Config, v string) error {
		for t := range strings.SplitSeq(v, ",") {
			if t = strings.TrimSpace(t); t != "" {
				*p(c) = append(*p(c), t)
			}
		}
		return nil
	}
}

func number[T int | int64](p func(*Config) *T, lo, hi int64) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < lo || n > hi {
			return fmt.Errorf("want a whole number from %d to %d", lo, hi)
		}
		*p(c) = T(n)
		return nil
	}
}

var units = []struct {
	suffix string
	shift  uint
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}}

func size(p func(*Config) *int64) func(*Config, string) error {
	return func(c *Config, v string) error {
		digits, shift := v, uint(0)
		for _, u := range units {
			if d, ok := strings.CutSuffix(v, u.suffix); ok {
				digits, shift = d, u.shift
			}
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > 1<<42>>shift {
			return errors.New("want a size such as 1048576, 64KiB, 256MiB or 2GiB")
		}
		*p(c) = n << shift
		return nil
	}
}

func duration(p func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return errors.New("want a duration such as 500ms, 30s or 5m")
		}
		*p(c) = d
		return nil
	}
}

// durationOrOff is duration for what can be turned off, which is 0.
func durationOrOff(p func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v == "off" {
			return nil
		}
		return duration(p)(c, v)
	}
}

func address(schemes string, p func(*Config) *Secret) func(*Config, string) error {
	return func(c *Config, v string) error {
		u, err := url.Parse(v)
		if err != nil || !strings.Contains(" "+schemes+" ", " "+u.Scheme+" ") {
			return fmt.Errorf("want a URL that begins with %s://", strings.ReplaceAll(schemes, " ", ":// or "))
		}
		*p(c) = Secret(v)
		return nil
	}
}

func listenAddress(p func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		_, port, err := net.SplitHostPort(v)
		if n, numErr := strconv.ParseUint(port, 10, 16); err != nil || numErr != nil || n > 65535 {
			return errors.New("want an address such as 127.0.0.1:9090 or :9090")
		}
		*p(c) = v
		return nil
	}
}

func onOff(p func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v != "on" && v != "off" {
			return errors.New("want on or off")
		}
		*p(c) = v == "on"
		return nil
	}
}

func trueFalse(p func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("want true or false")
		}
		*p(c) = b
		return nil
	}
}

func oneOf(p func(*Config) *string, words ...string) func(*Config, string) error {
	return func(c *Config, v string) error {
		for _, w := range words {
			if v == w {
				*p(c) = v
				return nil
			}
		}
		return fmt.Errorf("want one of %s", strings.Join(words, ", "))
	}
}

const postgresSchemes = "postgres postgresql"

// sections is the table of all variables, in the order in which CONFIGURATION.md shows them.
var sections = []section{
	{"Database", []variable{
		{name: "DATABASE_URL", secret: true,
			help: "Postgres 15 or newer; may go through a transaction pooler such as PgBouncer, which is noticed",
			set:  address(postgresSchemes, func(c *Config) *Secret { return &c.DatabaseURL })},
		{name: "DATABASE_DIRECT_URL", secret: true, shown: "`DATABASE_URL`",
			help: "the same primary without a pooler, for migrations and replication",
			set:  address(postgresSchemes, func(c *Config) *Secret { return &c.DatabaseDirectURL })},
		{name: "DATABASE_REPLICA_URL", secret: true,
			help: "a streaming standby, without a pooler: serves cache misses when it has replayed what is asked for",
			set:  address(postgresSchemes, func(c *Config) *Secret { return &c.DatabaseReplicaURL })},
		{name: "DATABASE_POOL_SIZE", def: "16",
			help: "connections of this process, and as many to a standby at most, however many sandboxes are open",
			set:  number(func(c *Config) *int { return &c.DatabasePoolSize }, 2, 1000)},
		{name: "DATABASE_EXEC_MODE", def: "auto",
			help: "how statements are sent: `cache_statement` (prepared), `cache_describe` or `exec` (both fit for a transaction pooler), or `auto` (`cache_describe` behind a pooler)",
			set: oneOf(func(c *Config) *string { return &c.DatabaseExecMode }, "auto", "cache_statement", "cache_describe",
				"exec")},
		{name: "CACHE_INVALIDATION", def: "auto",
			help: "how cached trees follow the commits of others: `replication` (patched; needs wal_level=logical and a user of `DATABASE_DIRECT_URL` with REPLICATION), `version` (reloaded when asked for), or `auto` (replication where possible)",
			set:  oneOf(func(c *Config) *string { return &c.CacheInvalidation }, "auto", "replication", "version")},
	}},
	{"Network and identity", []variable{
		{name: "HOST", def: "0.0.0.0", help: "address to listen on",
			set: text(func(c *Config) *string { return &c.Host })},
		{name: "PORT", def: "8080", help: "TCP port to listen on; 0 chooses a free one",
			set: number(func(c *Config) *int { return &c.Port }, 0, 65535)},
		{name: "METRICS_ADDR",
			help: "`host:port` of a separate listener for /metrics; unset: /metrics is on the main listener",
			set:  listenAddress(func(c *Config) *string { return &c.MetricsAddr })},
		{name: "TRUST_PROXY", def: "false", help: "`true`: rate limits take the client's address from X-Forwarded-For",
			set: trueFalse(func(c *Config) *bool { return &c.TrustProxy })},
		{name: "AUTH_SECRET", secret: true, help: "signs tokens (HS256) and opens /v1/auth/bootstrap; at least 16 bytes",
			set: key(func(c *Config) *Secret { return &c.AuthSecret })},
		{name: "ADMIN_SECRET", secret: true, help: "opens /v1/auth/admin; at least 16 bytes",
			set: key(func(c *Config) *Secret { return &c.AdminSecret })},
		{name: "TENANTS", help: "comma-separated tenants whose tokens are accepted; unset: any",
			set: list(func(c *Config) *[]string { return &c.Tenants })},
		{name: "MCP_API_KEY", secret: true,
			help: "a key for /mcp with which an application speaks for its users; at least 16 bytes",
			set:  key(func(c *Config) *Secret { return &c.MCPKey })},
		{name: "MCP_IDENTITY_HEADER", def: "x-librechat-user-id",
			help: "the header in which that application names the user, who owns the sandboxes",
			set:  text(func(c *Config) *string { return &c.MCPHeader })},
		{name: "MCP_DEFAULT_SUB", help: "the user when that header is missing; unset: such requests are refused",
			set: text(func(c *Config) *string { return &c.MCPSubject })},
		{name: "MCP_STATIC_TENANT", def: auth.DefaultTenant, help: "the tenant of that application's users",
			set: text(func(c *Config) *string { return &c.MCPTenant })},
		{name: "MCP_ALLOWED_ORIGINS", def: "*",
			help: "comma-separated origins of web pages that may call /mcp; `*`: any, with a token",
			set:  list(func(c *Config) *[]string { return &c.MCPOrigins })},
	}},
	{"Replicas and locks", []variable{
		{name: "REDIS_URL", secret: true,
			help: "Redis for the locks of several gateways; unset: this process is the only gateway",
			set:  address("redis rediss unix", func(c *Config) *Secret { return &c.RedisURL })},
		{name: "LOCK_TIMEOUT", def: "30s",
			help: "longest wait for another writer of the same sandbox, including a transaction in psql",
			set:  duration(func(c *Config) *time.Duration { return &c.LockTimeout })},
		{name: "LOCK_LEASE", def: "10s", help: "how long the lock of a gateway lasts after Redis last heard from it",
			set: duration(func(c *Config) *time.Duration { return &c.LockLease })},
	}},
	{"The server process", []variable{
		{name: "SANDBOX", def: "auto",
			help: "whether the server gives up files, TCP ports and system calls that it does not need (Landlock, seccomp): `auto` as far as the kernel can, `required` fully or it does not start, `off`",
			set: oneOf(func(c *Config) *string { return (*string)(&c.Sandbox) }, string(confine.Auto), string(confine.Required),
				string(confine.Off))},
		{name: "PGBOX_RUNTIMES", shown: "`pgbox/runtimes` in the user's cache directory",
			help: "directory of the interpreters that sandboxes can have (python3); `pgbox runtimes install` fetches them with npm, another machine's directory can be copied",
			set:  text(func(c *Config) *string { return &c.Runtimes })},
		{name: "SUPERVISE", def: "on",
			help: "`on`: a small parent keeps the listening socket and restarts the server when it dies; `off`: one process",
			set:  onOff(func(c *Config) *bool { return &c.Supervise })},
		{name: "SHUTDOWN_TIMEOUT", def: "30s", help: "longest wait for running scripts when told to stop",
			set: duration(func(c *Config) *time.Duration { return &c.ShutdownTimeout })},
		{name: "LOG_LEVEL", def: "info", help: "`debug`, `info`, `warn` or `error`",
			set: oneOf(func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error")},
		{name: "TREE_CACHE_SIZE", def: "512MiB", help: "memory for cached trees",
			set: size(func(c *Config) *int64 { return &c.TreeCacheBytes })},
		{name: "CONTENT_CACHE_SIZE", def: "256MiB", help: "memory for cached file contents",
			set: size(func(c *Config) *int64 { return &c.ContentCacheBytes })},
		{name: "EXEC_CONCURRENCY", def: strconv.Itoa(16 * runtime.NumCPU()), shown: "16 per CPU",
			help: "scripts that run at once",
			set:  number(func(c *Config) *int { return &c.MaxExecs }, 1, 100_000)},
		{name: "EXEC_QUEUE", def: "1024", help: "scripts that wait at once",
			set: number(func(c *Config) *int { return &c.MaxQueue }, 0, 1_000_000)},
		{name: "EXEC_MEMORY", def: "2GiB", help: "live bytes of all running scripts together; above it the largest is ended",
			set: size(func(c *Config) *int64 { return &c.MemoryLimit })},
	}},
	{"Limits of one script", []variable{
		{name: "EXEC_CPU", def: "2m", help: "CPU time",
			set: duration(func(c *Config) *time.Duration { return &c.Limits.CPU })},
		{name: "EXEC_STEPS", def: "2000000000", help: "statements, expansions and units of work inside commands",
			set: number(func(c *Config) *int64 { return &c.Limits.Steps }, 1, 1<<50)},
		{name: "EXEC_LIVE_BYTES", def: "512MiB", help: "variables, pipes and buffers of commands held at once",
			set: size(func(c *Config) *int64 { return &c.Limits.LiveBytes })},
		{name: "EXEC_VALUE", def: "128MiB", help: "one variable, expansion or here-document",
			set: size(func(c *Config) *int64 { return &c.Limits.ValueBytes })},
		{name: "EXEC_WORDS", def: "4000000", help: "words that one expansion may produce",
			set: number(func(c *Config) *int64 { return &c.Limits.Words }, 1, 1<<40)},
		{name: "EXEC_DEPTH", def: "1000", help: "nesting of functions, eval, source, subshells and substitutions",
			set: number(func(c *Config) *int64 { return &c.Limits.Depth }, 1, 10_000)},
		{name: "EXEC_PROCESSES", def: "512", help: "subshells, pipeline stages and jobs at once",
			set: number(func(c *Config) *int64 { return &c.Limits.Goroutines }, 1, 1<<20)},
		{name: "EXEC_OPEN_FILES", def: "1024", help: "files open at once",
			set: number(func(c *Config) *int64 { return &c.Limits.OpenFiles }, 8, 1<<20)},
		{name: "EXEC_FILE_SIZE", def: "4GiB", help: "size of one file",
			set: size(func(c *Config) *int64 { return &c.MaxFileSize })},
		{name: "EXEC_WRITTEN", def: "16GiB", help: "bytes written into files, also those that are removed again",
			set: size(func(c *Config) *int64 { return &c.Limits.Written })},
		{name: "EXEC_PRINTED", def: "256MiB", help: "bytes of stdout and stderr after which the script is ended",
			set: size(func(c *Config) *int64 { return &c.MaxPrinted })},
		{name: "EXEC_OUTPUT", def: "10MiB", help: "bytes of stdout, and of stderr, that are kept and answered",
			set: size(func(c *Config) *int64 { return &c.MaxOutput })},
		{name: "EXEC_STATE", def: "1MiB",
			help: "exported variables and functions kept for later scripts, over all sessions of a sandbox; at most 8MiB",
			set:  size(func(c *Config) *int64 { return &c.MaxState })},
	}},
	{"Sandboxes and housekeeping", []variable{
		{name: "SANDBOX_MAX_BYTES", def: "10GiB", help: "quota of a new sandbox: bytes of its files; 0: none",
			set: size(func(c *Config) *int64 { return &c.SandboxMaxBytes })},
		{name: "SANDBOX_MAX_INODES", def: "1000000", help: "quota of a new sandbox: files and directories; 0: none",
			set: number(func(c *Config) *int64 { return &c.SandboxMaxInodes }, 0, 1<<40)},
		{name: "HOUSEKEEPING_INTERVAL", def: "5m",
			help: "how often one of the gateways drops expired sandboxes and deletes unreferenced contents; `off`: never (`pgbox gc` does it at once)",
			set:  durationOrOff(func(c *Config) *time.Duration { return &c.Housekeeping })},
		{name: "HOUSEKEEPING_GRACE", def: "1h", help: "how long unreferenced contents are kept; longer than any script runs",
			set: duration(func(c *Config) *time.Duration { return &c.HousekeepingGrace })},
		{name: "HISTORY_RETENTION", def: "2160h",
			help: "how long the journal of file operations and the audit log are kept; `off`: forever",
			set:  durationOrOff(func(c *Config) *time.Duration { return &c.HistoryRetention })},
		{name: "JOURNAL_MAX_OPERATIONS", def: "1000000", help: "operations kept in the journal of one sandbox; 0: all",
			set: number(func(c *Config) *int64 { return &c.JournalMax }, 0, 1<<40)},
		{name: "FSCK_INTERVAL", def: "off",
			help: "how often one of the gateways checks every invariant of all sandboxes and logs what is broken; `off`: never (`pgbox fsck` does it at once, `--repair` mends)",
			set:  durationOrOff(func(c *Config) *time.Duration { return &c.FsckInterval })},
	}},
}

// all is every variable.
func all(yield func(v *variable) bool) {
	for i := range sections {
		for j := range sections[i].variables {
			if !yield(&sections[i].variables[j]) {
				return
			}
		}
	}
}

// Load reads the configuration through getenv. An unset or empty variable takes its default. The
// error joins one line for each bad value.
func Load(getenv func(string) string) (*Config, error) {
	c := new(Config)
	var bad []error
	for v := range all {
		val := getenv(v.name)
		if val == "" {
			val = v.def
		}
		if val == "" {
			continue
		}
		if err := v.set(c, val); err != nil {
			shown := strconv.Quote(val)
			if v.secret {
				shown = notShown
			}
			bad = append(bad, fmt.Errorf("%s=%s: %w", v.name, shown, err))
		}
	}
	if c.DatabaseDirectURL == "" {
		c.DatabaseDirectURL = c.DatabaseURL
	}
	if c.Runtimes == "" {
		c.Runtimes = machine.DefaultDir()
	}
	return c, errors.Join(bad...)
}

// Require reports each of the named variables that is unset, one line each.
func (c *Config) Require(getenv func(string) string, names ...string) error {
	var bad []error
	for _, n := range names {
		if getenv(n) == "" {
			bad = append(bad, fmt.Errorf("%s is not set: %s", n, help(n)))
		}
	}
	return errors.Join(bad...)
}

func help(name string) string {
	for v := range all {
		if v.name == name {
			return v.help
		}
	}
	return ""
}

// Variables describes every variable, one "NAME (default; secret): meaning" line each, sorted.
func Variables() []string {
	var out []string
	for v := range all {
		def := cmp.Or(v.shown, v.def, "unset")
		if v.secret {
			def += "; secret"
		}
		out = append(out, strings.ReplaceAll(fmt.Sprintf("%s (%s): %s", v.name, def, v.help), "`", ""))
	}
	slices.Sort(out)
	return out
}

// Page is CONFIGURATION.md: every variable, by section.
func Page() []byte {
	var b bytes.Buffer
	b.WriteString("# Configuration\n\nWritten by `make generate` from gateway/config; do not edit.\n\n" +
		"The environment of `pgbox serve`, and of `pgbox dev`, which has a default for everything. An empty variable counts as unset; a bad value stops the start\n" +
		"with one line for each. Sizes take KiB, MiB and GiB, durations ms, s, m and h. Values marked *secret* are never printed or logged.\n")
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n| variable | default | meaning |\n|---|---|---|\n", s.title)
		for _, v := range s.variables {
			help := v.help
			if v.secret {
				help += " (*secret*)"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.name, cmp.Or(v.shown, v.def), strings.ReplaceAll(help, "|", `\|`))
		}
	}
	return b.Bytes()
}
