// The real tools are the same with and without the race detector.

//go:build !race

package shell_test

import (
	"flag"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
)

var oracleEvery = flag.Int("oracle-every", 3, "TestCasesOnTheRealTools replays one of so many recorded cases")

// The same cases under the real bash and tools; one of three, for each is a process or more.
func TestCasesOnTheRealTools(t *testing.T) {
	seen := 0
	casetest.ReplayOracle(t, func(casetest.Case) bool {
		seen++
		return seen%*oracleEvery == 0
	}, "testdata/cases/*.cases", "testdata/known-differences.cases")
}
