package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// MinVersion is the oldest major version of PostgreSQL that pgbox runs on.
const MinVersion = 15

// ErrNoPostgres: no PostgreSQL server of [MinVersion] or newer is installed.
var ErrNoPostgres = errors.New("no PostgreSQL server found")

// Binaries is an installed PostgreSQL server.
type Binaries struct {
	Dir     string // holds initdb and postgres
	Version int    // major version
}

func (b Binaries) path(name string) string { return filepath.Join(b.Dir, name) }

// FindBinaries returns the newest server among dirs, those in PATH and those in
// Debian's versioned folders. A dir that is given explicitly wins.
func FindBinaries(ctx context.Context, dirs ...string) (Binaries, error) {
	for _, dir := range dirs {
		if b, err := probe(ctx, dir); err == nil {
			return b, nil
		}
	}
	var places []string
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			places = append(places, filepath.Dir(p))
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin"} {
		found, _ := filepath.Glob(pattern) // the patterns are well-formed
		places = append(places, found...)
	}
	slices.Sort(places)
	var best Binaries
	for _, dir := range slices.Compact(places) {
		if b, err := probe(ctx, dir); err == nil && b.Version > best.Version {
			best = b
		}
	}
	if best.Version < MinVersion {
		return Binaries{}, fmt.Errorf("%w: version %d or newer is needed (looked in PATH and the usual folders)",
			ErrNoPostgres, MinVersion)
	}
	return best, nil
}

var versionRE = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func probe(ctx context.Context, dir string) (Binaries, error) {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return Binaries{}, err
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return Binaries{}, err
	}
	m := versionRE.FindSubmatch(out)
	if m == nil {
		return Binaries{}, fmt.Errorf("%s: unknown version %q", dir, out)
	}
	v, err := strconv.Atoi(string(m[1]))
	return Binaries{Dir: dir, Version: v}, err
}
