// The real tools are the same with and without the race detector.

//go:build !race

package shell_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
)

// The same cases under the real bash and tools.
func TestCasesOnTheRealTools(t *testing.T) {
	casetest.ReplayOracle(t, "testdata/cases/*.cases", "testdata/known-differences.cases")
}
