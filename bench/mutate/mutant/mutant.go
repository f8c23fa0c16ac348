// Package mutant takes one thing out of the product, or turns it round, by an overlay of the build that leaves the
// checkout alone.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is one change.
type Mutant struct {
	Name     string
	File     string // from the root of the module
	Old, New string // Old stands in the file once
	Pkg, Run string // go test Pkg -run Run has to notice; empty: something else has to
}

// Parse reads a table: paragraphs of a line "name", and the lines file, old, new, test, each "key: value". A value
// in which lines are broken has \n.
func Parse(table string) ([]Mutant, error) {
	var out []Mutant
	for p := range strings.SplitSeq(table, "\n\n") {
		var m Mutant
		for line := range strings.Lines(p) {
			line = strings.TrimRight(line, "\n")
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			key, value, ok := strings.Cut(line, ": ")
			if !ok && !strings.HasSuffix(line, ":") {
				return nil, fmt.Errorf("mutants: no key in %q", line)
			}
			value = strings.ReplaceAll(value, `\n`, "\n")
			switch strings.TrimSuffix(key, ":") {
			case "name":
				m.Name = value
			case "file":
				m.File = value
			case "old":
				m.Old = value
			case "new":
				m.New = value
			case "test":
				m.Pkg, m.Run, _ = strings.Cut(value, " ")
			default:
				return nil, fmt.Errorf("mutants: unknown key %q", key)
			}
		}
		if m == (Mutant{}) {
			continue
		}
		if m.Name == "" || m.File == "" || m.Old == "" {
			return nil, fmt.Errorf("mutants: %q is not complete", p)
		}
		out = append(out, m)
	}
	return out, nil
}

// apply returns what the file of m holds with the change.
func (m *Mutant) apply() (string, error) {
	b, err := os.ReadFile(m.File)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), m.Old); n != 1 {
		return "", fmt.Errorf("%s: %q stands in %s %d times, not once: mend the table", m.Name, m.Old, m.File, n)
	}
	return strings.Replace(string(b), m.Old, m.New, 1), nil
}

// Overlay writes the change into a folder and returns the argument of go build -overlay. The working directory is the
// root of the module.
func (m *Mutant) Overlay(dir string) (string, error) {
	text, err := m.apply()
	if err != nil {
		return "", err
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "changed"+filepath.Ext(m.File))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(wd, m.File): changed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, overlay, 0o600)
}
