package shell

import (
	"slices"
	"strings"
	"testing"
)

// Every builtin is described, and nothing else.
func TestUsages(t *testing.T) {
	for name := range builtins {
		if !slices.ContainsFunc(usages, func(u Usage) bool { return u.Name == name }) {
			t.Errorf("%s has no line in usage.go", name)
		}
	}
	for _, u := range usages {
		if builtins[u.Name] == nil || !strings.HasPrefix(u.Synopsis, u.Name) || u.Does == "" {
			t.Errorf("%+v", u)
		}
	}
	if !slices.IsSortedFunc(usages, func(a, b Usage) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
}
