package sys

import (
	"bytes"
	"context"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var yesSpec = getopt.New("", "").WithUsage("[STRING]...\n  or:  yes OPTION",
	"Repeatedly output a line with all specified STRING(s), or 'y'.")

func yes(_ context.Context, p *proc.Process) int {
	_, args := yesSpec.Parse(p)
	line := "y\n"
	if len(args) > 0 {
		line = strings.Join(args, " ") + "\n"
	}
	block := bytes.Repeat([]byte(line), max(1, 8192/len(line)))
	for {
		p.Out.Write(block)
		p.Tick(8)
	}
}
