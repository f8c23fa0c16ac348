package command

import "testing"

// Every command is on the page of commands, with a line that says what it does.
func TestAbouts(t *testing.T) {
	for name := range registry {
		if abouts[name].Does == "" {
			t.Errorf("%s has no line in about.go", name)
		}
	}
	for name := range abouts {
		if registry[name] == nil {
			t.Errorf("about.go describes %s, which is no command", name)
		}
	}
}
