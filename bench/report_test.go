package main

import (
	"bytes"
	"os"
	"testing"
)

// The page shows what was measured, by the names and bars of today.
func TestReport(t *testing.T) {
	t.Chdir("..")
	all, err := readMeasured()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(reportFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, report(all)) {
		t.Errorf("%s is not what %s says: run make generate", reportFile, measuredFile)
	}
	known := map[string]bool{}
	for _, b := range everything() {
		known[b.name] = true
	}
	for name := range all {
		if !known[name] {
			t.Errorf("%s has %s, which is not a benchmark", measuredFile, name)
		}
	}
}
