package command

import "testing"

// Every program is on the page of commands, with a line that says what it does.
func TestAbouts(t *testing.T) {
	for name, p := range Table() {
		if p.Does == "" {
			t.Errorf("%s does not say what it does", name)
		}
	}
}
