package mutant

import (
	"os"
	"testing"
)

// The tables break what is there: a refactoring takes their entries along.
func TestTablesAreOfThisSource(t *testing.T) {
	t.Chdir("../../..")
	for _, name := range []string{"bench/mutate/mutants.txt", "bench/cluster/broken.txt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all, err := Parse(string(text))
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %d entries, %v", name, len(all), err)
		}
		for i := range all {
			if _, err := all[i].apply(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
