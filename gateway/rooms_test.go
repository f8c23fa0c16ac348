// Package gateway holds the test of the map in README.md.
package gateway

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room is a folder of gateway with everything below it.
type room struct {
	imports []string // other rooms
	lines   int      // without tests
}

func rooms(t *testing.T) map[string]*room {
	all := map[string]*room{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			!strings.Contains(path, "/") || strings.HasPrefix(path, "shell/casetest/") {
			return err
		}
		name, _, _ := strings.Cut(path, "/")
		r := all[name]
		if r == nil {
			r = new(room)
			all[name] = r
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r.lines += strings.Count(string(text), "\n")
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			to, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "github.com/pgbox/pgbox/gateway/")
			if to, _, _ = strings.Cut(to, "/"); ours && to != name && !slices.Contains(r.imports, to) {
				r.imports = append(r.imports, to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		slices.Sort(r.imports)
	}
	return all
}

// The map of the README has every room, from the top down, with what it imports and about how large it is.
func TestMapOfTheRooms(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| \[([a-z]+)\]\([a-z/]+\) \| .* \| ([a-z, ]*) \| ([0-9.]+) \|$`)
	all, place := rooms(t), map[string]int{}
	for i, m := range row.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		r := all[name]
		if r == nil {
			t.Errorf("%s is on the map and not in the house", name)
			continue
		}
		place[name] = i
		lines, err := strconv.ParseFloat(m[3], 64)
		if err != nil || math.Abs(lines*1000-float64(r.lines)) > max(300, 0.2*float64(r.lines)) {
			t.Errorf("%s: %s thousand lines on the map, %d in the house", name, m[3], r.lines)
		}
		if want := strings.Join(r.imports, ", "); m[2] != want {
			t.Errorf("%s: imports %q on the map, %q in the house", name, m[2], want)
		}
	}
	for name, r := range all {
		at, ok := place[name]
		if !ok {
			t.Errorf("%s is not on the map: %s", name, fmt.Sprintf("| [%s](%s) | | %s | %.1f |", name, name,
				strings.Join(r.imports, ", "), float64(r.lines)/1000))
		}
		for _, to := range r.imports {
			if ok && place[to] < at {
				t.Errorf("%s imports %s, which stands above it", name, to)
			}
		}
	}
}
