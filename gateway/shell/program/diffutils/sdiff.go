package diffutils

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var sdiffSpec = getopt.New("abBdEHiI:lo:stvw:WZ",
	"text=a ignore-space-change=b ignore-blank-lines=B minimal=d ignore-tab-expansion=E speed-large-files=H ignore-case=i "+
		"ignore-matching-lines:=I left-column=l output:=o suppress-common-lines=s expand-tabs=t tabsize: version=v width:=w ignore-all-space=W "+
		"ignore-trailing-space=Z strip-trailing-cr diff-program:").
	WithStatus(2).WithHint(getopt.NamedHint).
	WithUsage("[OPTION]... FILE1 FILE2", "Side-by-side merge of differences between FILE1 and FILE2.").
	WithVersion("(compatible with GNU diffutils) 3.8")

// sdiff is diff -y under other letters. Merging (-o) asks questions, and there is nobody to answer.
func sdiff(ctx context.Context, p *proc.Process) int {
	opts, args := sdiffSpec.Parse(p)
	argv := []string{"diff", "-y"}
	for _, o := range opts {
		switch o.Key {
		case "a", "b", "B", "d", "E", "H", "i", "t", "Z":
			argv = append(argv, "-"+o.Key)
		case "W":
			argv = append(argv, "-w")
		case "w":
			argv = append(argv, "-W", o.Value)
		case "I":
			argv = append(argv, "-I", o.Value)
		case "l":
			argv = append(argv, "--left-column")
		case "s":
			argv = append(argv, "--suppress-common-lines")
		case "strip-trailing-cr":
			argv = append(argv, "--strip-trailing-cr")
		case "tabsize":
			argv = append(argv, "--tabsize="+o.Value)
		case "v":
			p.Out.WriteString("sdiff (compatible with GNU diffutils) 3.8\n")
			return 0
		case "o":
			p.Errorf("interactive merging (-o) needs a terminal")
			return 2
		}
	}
	switch {
	case len(args) < 2:
		sdiffSpec.Fail(p, "missing operand after '%s'", p.Args[len(p.Args)-1])
	case len(args) > 2:
		sdiffSpec.Fail(p, "extra operand '%s'", args[2])
	}
	child := p.Child(append(append(argv, "--"), args...)...)
	return p.Exec(ctx, child)
}
