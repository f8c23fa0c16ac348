package extra

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// pagerArgs are the short options of less and more that take an argument.
const pagerArgs = "bhjkoOpPtTxyDnz"

// pagerFiles takes the options out of a command line: a pager without a terminal has no use for them.
func pagerFiles(args []string, more bool) (files []string) {
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
			return append(files, args...)
		case strings.HasPrefix(a, "+") && len(a) > 1:
		case strings.HasPrefix(a, "--"):
		case len(a) > 1 && a[0] == '-':
			with := pagerArgs
			if more {
				with = "n"
			}
			if i := strings.IndexAny(a, with); i > 0 && i == len(a)-1 && len(args) > 0 && a != "-n" ||
				more && a == "-n" && len(args) > 0 {
				args = args[1:]
			}
		default:
			files = append(files, a)
		}
	}
	return files
}

// less is cat: there is never a terminal. zless, bzless and xzless decompress.
func less(_ context.Context, p *proc.Process) int {
	for _, a := range p.Args[1:] {
		switch a {
		case "--version", "-V":
			p.Out.WriteString("less 590 (compatible)\n")
			return 0
		case "--help", "-?":
			p.Out.WriteString("Usage: less [OPTION]... [FILE]...\nWithout a terminal less copies its input, as cat does.\n")
			return 0
		}
	}
	for _, f := range pagerInput(pagerFiles(p.Args[1:], false)) {
		if program.IsDir(p, f) {
			p.Out.WriteString(f + " is a directory\n")
			continue
		}
		if err := page(p, f); err != nil {
			p.Out.WriteString(f + ": " + proc.Strerror(err) + "\n")
		}
	}
	return 0
}

// more is less with a heading over each file.
func more(_ context.Context, p *proc.Process) int {
	for _, a := range p.Args[1:] {
		switch a {
		case "--version", "-V":
			p.Out.WriteString("more from util-linux 2.38.1 (compatible)\n")
			return 0
		case "--help", "-h":
			p.Out.WriteString("Usage:\n more [options] <file>...\n\nWithout a terminal more copies its input, as cat does.\n")
			return 0
		}
	}
	files := pagerFiles(p.Args[1:], true)
	for _, f := range pagerInput(files) {
		if program.IsDir(p, f) {
			p.Out.WriteString("\n*** " + f + ": directory ***\n\n")
			continue
		}
		if _, err := p.Stat(f); err != nil && f != "-" {
			p.Errorf("cannot open %s: %s", f, proc.Strerror(err))
			continue
		}
		if f != "-" && (len(files) > 1 || p.Name() == "more") {
			const rule = "::::::::::::::\n"
			p.Out.WriteString(rule + f + "\n" + rule)
		}
		if err := page(p, f); err != nil {
			p.Errorf("cannot open %s: %s", f, proc.Strerror(err))
		}
	}
	return 0
}

func pagerInput(files []string) []string {
	if len(files) == 0 {
		return []string{"-"}
	}
	return files
}

// page copies a file to standard output, decompressed under a name that says so.
func page(p *proc.Process, name string) error {
	open := p.OpenInput
	if n := p.Name(); n != "less" && n != "more" {
		open = func(name string) (io.ReadCloser, error) { return program.OpenPlain(p, name) }
	}
	in, err := open(name)
	if err != nil {
		return err
	}
	_, err = program.CopyTicking(p, p.Out, in)
	return errors.Join(err, in.Close())
}
