package shell_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

func TestCases(t *testing.T) {
	casetest.Replay(t, command.All(), "testdata/cases/*.cases")
}
