// Package config reads the configuration of a gateway process from its
// environment. Every variable is listed in [Variables], with its default and unit;
// a bad value is one clear error line, and all bad values are reported at once.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/confine"
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
	Supervise          bool // a parent keeps the listening socket and starts the server again

	TreeCacheBytes    int64
	ContentCacheBytes int64
	MemoryLimit       int64 // watchdog: ends the largest exec above this many live bytes
	MaxOutput         int64 // bytes of stdout and of stderr kept by one exec
	MaxPrinted        int64 // bytes of both that end an exec
	MaxFileSize       int64
	MaxState          int64       // bytes of exported variables and functions that execs leave to the next ones, all sessions of a sandbox together
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

// Secret is what must never be printed: a key, or a URL that may hold a password. It prints as what it is not; convert it to a string to use it.
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

type variable struct {
	name, def, help string
	set             func(c *Config, v string) error
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

// onOff is a switch.
func onOff(p func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v != "on" && v != "off" {
			return errors.New("want on or off")
		}
		*p(c) = v == "on"
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

// secrets are the variables whose values are never printed.
var secrets = []variable{
	{"DATABASE_URL", "", "Postgres, may go through a pooler", address(postgresSchemes, func(c *Config) *Secret { return &c.DatabaseURL })},
	{"DATABASE_DIRECT_URL", "", "Postgres without a pooler, for migrations and replication (default: DATABASE_URL)", address(postgresSchemes, func(c *Config) *Secret { return &c.DatabaseDirectURL })},
	{"DATABASE_REPLICA_URL", "", "a streaming standby of that Postgres, without a pooler: trees and contents that are not cached are read from it when it has replayed them", address(postgresSchemes, func(c *Config) *Secret { return &c.DatabaseReplicaURL })},
	{"REDIS_URL", "", "Redis for the exec locks of several replicas; unset: one process serves alone", address("redis rediss unix", func(c *Config) *Secret { return &c.RedisURL })},
	{"AUTH_SECRET", "", "signs the tokens (HS256) and opens /v1/auth/bootstrap; at least 16 bytes", key(func(c *Config) *Secret { return &c.AuthSecret })},
	{"ADMIN_SECRET", "", "opens /v1/auth/admin; at least 16 bytes", key(func(c *Config) *Secret { return &c.AdminSecret })},
	{"MCP_API_KEY", "", "a key for /mcp with which an application speaks for its users; at least 16 bytes", key(func(c *Config) *Secret { return &c.MCPKey })},
}

var variables = []variable{
	{"HOST", "0.0.0.0", "address to listen on", text(func(c *Config) *string { return &c.Host })},
	{"PORT", "8080", "TCP port to listen on; 0 chooses a free one", number(func(c *Config) *int { return &c.Port }, 0, 65535)},
	{"DATABASE_POOL_SIZE", "16", "connections of this process (and as many to a replica at most), however many sandboxes are open", number(func(c *Config) *int { return &c.DatabasePoolSize }, 2, 1000)},
	{"DATABASE_EXEC_MODE", "auto", "how statements are sent: cache_statement (prepared), cache_describe or exec (fit for a transaction pooler such as PgBouncer), or auto (cache_describe where there is a pooler)", oneOf(func(c *Config) *string { return &c.DatabaseExecMode }, "auto", "cache_statement", "cache_describe", "exec")},
	{"CACHE_INVALIDATION", "auto", "how trees cached here follow the commits of others: replication (patched; needs wal_level=logical and a user of DATABASE_DIRECT_URL with REPLICATION), version (reloaded when they are asked for), or auto (replication where possible)", oneOf(func(c *Config) *string { return &c.CacheInvalidation }, "auto", "replication", "version")},
	{"MCP_IDENTITY_HEADER", "x-librechat-user-id", "the header in which it names the user, who owns the sandboxes", text(func(c *Config) *string { return &c.MCPHeader })},
	{"MCP_DEFAULT_SUB", "", "the user when that header is missing; unset: such requests are refused", text(func(c *Config) *string { return &c.MCPSubject })},
	{"MCP_STATIC_TENANT", auth.DefaultTenant, "the tenant of its users", text(func(c *Config) *string { return &c.MCPTenant })},
	{"MCP_ALLOWED_ORIGINS", "*", "comma-separated origins of web pages that may call /mcp; *: any, with a token", list(func(c *Config) *[]string { return &c.MCPOrigins })},
	{"TENANTS", "", "comma-separated tenants whose tokens are accepted; unset: any", list(func(c *Config) *[]string { return &c.Tenants })},
	{"TRUST_PROXY", "false", "true: take the client address of rate limits from X-Forwarded-For", func(c *Config, v string) (err error) {
		if c.TrustProxy, err = strconv.ParseBool(v); err != nil {
			err = errors.New("want true or false")
		}
		return err
	}},
	{"METRICS_ADDR", "", "host:port of a listener of its own for /metrics, which is then nowhere else", listenAddress(func(c *Config) *string { return &c.MetricsAddr })},
	{"SANDBOX", "auto", "whether the server gives up what it has no use for: files, TCP ports and system calls; auto: as far as the kernel can (Landlock, seccomp), required: it does not start otherwise, off", func(c *Config, v string) error {
		return oneOf(func(c *Config) *string { return (*string)(&c.Sandbox) }, string(confine.Auto), string(confine.Required), string(confine.Off))(c, v)
	}},
	{"SUPERVISE", "on", "on: a small parent keeps the listening socket and starts the server again when it dies; off: one process", onOff(func(c *Config) *bool { return &c.Supervise })},
	{"LOG_LEVEL", "info", "debug, info, warn or error", oneOf(func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error")},
	{"TREE_CACHE_SIZE", "512MiB", "memory for cached trees", size(func(c *Config) *int64 { return &c.TreeCacheBytes })},
	{"CONTENT_CACHE_SIZE", "256MiB", "memory for cached file content", size(func(c *Config) *int64 { return &c.ContentCacheBytes })},
	{"EXEC_MEMORY", "2GiB", "live bytes of all running scripts; above it the largest is ended", size(func(c *Config) *int64 { return &c.MemoryLimit })},
	{"EXEC_CPU", "2m", "CPU time of one exec", duration(func(c *Config) *time.Duration { return &c.Limits.CPU })},
	{"EXEC_LIVE_BYTES", "512MiB", "variables, pipes and buffers of commands that one exec holds at once", size(func(c *Config) *int64 { return &c.Limits.LiveBytes })},
	{"EXEC_VALUE", "128MiB", "one variable, expansion or here-document", size(func(c *Config) *int64 { return &c.Limits.ValueBytes })},
	{"EXEC_WORDS", "4000000", "words that one expansion may make", number(func(c *Config) *int64 { return &c.Limits.Words }, 1, 1<<40)},
	{"EXEC_DEPTH", "1000", "nesting of functions, eval, source, subshells and substitutions", number(func(c *Config) *int64 { return &c.Limits.Depth }, 1, 10_000)},
	{"EXEC_PROCESSES", "512", "subshells, stages of pipelines and jobs of one exec at once", number(func(c *Config) *int64 { return &c.Limits.Goroutines }, 1, 1<<20)},
	{"EXEC_OPEN_FILES", "1024", "files that one exec has open at once", number(func(c *Config) *int64 { return &c.Limits.OpenFiles }, 8, 1<<20)},
	{"EXEC_STEPS", "2000000000", "statements, expansions and pieces of work of commands of one exec", number(func(c *Config) *int64 { return &c.Limits.Steps }, 1, 1<<50)},
	{"EXEC_FILE_SIZE", "4GiB", "size of one file", size(func(c *Config) *int64 { return &c.MaxFileSize })},
	{"EXEC_WRITTEN", "16GiB", "bytes that one exec writes into files, whatever becomes of them", size(func(c *Config) *int64 { return &c.Limits.Written })},
	{"EXEC_PRINTED", "256MiB", "bytes of stdout and stderr that end an exec", size(func(c *Config) *int64 { return &c.MaxPrinted })},
	{"EXEC_STATE", "1MiB", "exported variables (and functions) that execs leave to the next ones, all sessions of a sandbox together, in bytes; at most 8MiB", size(func(c *Config) *int64 { return &c.MaxState })},
	{"EXEC_OUTPUT", "10MiB", "bytes of stdout, and of stderr, that one exec keeps", size(func(c *Config) *int64 { return &c.MaxOutput })},
	{"EXEC_CONCURRENCY", strconv.Itoa(16 * runtime.NumCPU()), "scripts running at once in this process", number(func(c *Config) *int { return &c.MaxExecs }, 1, 100_000)},
	{"EXEC_QUEUE", "1024", "scripts waiting at once in this process", number(func(c *Config) *int { return &c.MaxQueue }, 0, 1_000_000)},
	{"LOCK_TIMEOUT", "30s", "longest wait for another writer of the same sandbox, a transaction in psql included", duration(func(c *Config) *time.Duration { return &c.LockTimeout })},
	{"LOCK_LEASE", "10s", "how long the lock of a gateway lasts that Redis does not hear of any more", duration(func(c *Config) *time.Duration { return &c.LockLease })},
	{"SHUTDOWN_TIMEOUT", "30s", "longest wait for running scripts when told to stop", duration(func(c *Config) *time.Duration { return &c.ShutdownTimeout })},
	{"HOUSEKEEPING_INTERVAL", "5m", "how often one of the gateways drops expired sandboxes and deletes what nothing refers to; off: never", durationOrOff(func(c *Config) *time.Duration { return &c.Housekeeping })},
	{"FSCK_INTERVAL", "off", "how often one of the gateways checks every invariant of all sandboxes, contents included, and logs what is broken; off: never", durationOrOff(func(c *Config) *time.Duration { return &c.FsckInterval })},
	{"HOUSEKEEPING_GRACE", "1h", "how long content stays that nothing refers to; longer than any script runs", duration(func(c *Config) *time.Duration { return &c.HousekeepingGrace })},
	{"HISTORY_RETENTION", "2160h", "how long the journal of file operations and the audit log are kept; off: for ever", durationOrOff(func(c *Config) *time.Duration { return &c.HistoryRetention })},
	{"JOURNAL_MAX_OPERATIONS", "1000000", "operations kept of one sandbox; 0: all", number(func(c *Config) *int64 { return &c.JournalMax }, 0, 1<<40)},
	{"SANDBOX_MAX_BYTES", "10GiB", "quota of a new sandbox, bytes of its files; 0: none", size(func(c *Config) *int64 { return &c.SandboxMaxBytes })},
	{"SANDBOX_MAX_INODES", "1000000", "quota of a new sandbox, files and directories; 0: none", number(func(c *Config) *int64 { return &c.SandboxMaxInodes }, 0, 1<<40)},
}

// Load reads the configuration through getenv. An unset or empty variable takes its default. The
// error joins one line for each bad value.
func Load(getenv func(string) string) (*Config, error) {
	c := new(Config)
	var bad []error
	for i, v := range slices.Concat(secrets, variables) {
		val := getenv(v.name)
		if val == "" {
			val = v.def
		}
		if val == "" {
			continue
		}
		if err := v.set(c, val); err != nil {
			shown := strconv.Quote(val)
			if i < len(secrets) {
				shown = notShown
			}
			bad = append(bad, fmt.Errorf("%s=%s: %w", v.name, shown, err))
		}
	}
	if c.DatabaseDirectURL == "" {
		c.DatabaseDirectURL = c.DatabaseURL
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
	for _, v := range slices.Concat(secrets, variables) {
		if v.name == name {
			return v.help
		}
	}
	return ""
}

// Variables describes every variable, one "NAME (default; secret): meaning" line each, sorted.
func Variables() []string {
	out := make([]string, 0, len(secrets)+len(variables))
	for i, v := range slices.Concat(secrets, variables) {
		def := v.def
		if def == "" {
			def = "unset"
		}
		if i < len(secrets) {
			def += "; secret"
		}
		out = append(out, fmt.Sprintf("%s (%s): %s", v.name, def, v.help))
	}
	sort.Strings(out)
	return out
}
