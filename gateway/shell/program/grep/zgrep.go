package grep

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
)

// grepArgs are the options of grep that take the next word.
const grepArgs = "ABCDefm"

// zgrep runs grep over the content of files that may be compressed.
func zgrep(ctx context.Context, p *proc.Process) int {
	name := p.Name()
	tool := "grep"
	switch {
	case strings.HasSuffix(name, "egrep"):
		tool = "egrep"
	case strings.HasSuffix(name, "fgrep"):
		tool = "fgrep"
	}
	var opts, files []string
	pattern, named, silentNames := false, false, false
	args := p.Args[1:]
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		if a == "--" {
			files = append(files, args...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			files = append(files, a)
			continue
		}
		takes := false
		if long, ok := strings.CutPrefix(a, "--"); ok {
			switch {
			case long == "help":
				p.Out.WriteString("Usage: /usr/bin/" + name +
					" [OPTION]... [-e] PATTERN [FILE]...\nLook for instances of PATTERN in the input FILEs, using their\nuncompressed contents if they are compressed.\n\nOPTIONs are the same as for 'grep'.\n")
				return 0
			case long == "version":
				p.Out.WriteString(name + " (gzip) 1.12 (compatible)\n")
				return 0
			case strings.HasPrefix(long, "regexp"), strings.HasPrefix(long, "file"):
				pattern = true
				takes = !strings.Contains(long, "=")
			case slices.Contains([]string{"recursive", "dereference-recursive"}, long), strings.HasPrefix(long, "include"),
				strings.HasPrefix(long, "exclude"):
				p.Err.WriteString("/usr/bin/" + name + ": " + a + ": option not supported\n")
				return 2
			}
			named = named || long == "with-filename"
			silentNames = silentNames || long == "no-filename"
		} else {
			for i := 1; i < len(a); i++ {
				switch a[i] {
				case 'r', 'R', 'd':
					p.Err.WriteString("/usr/bin/" + name + ": -" + a[i:i+1] + ": option not supported\n")
					return 2
				case 'e', 'f':
					pattern = true
				case 'h':
					silentNames = true
				case 'H':
					named = true
				}
				if strings.IndexByte(grepArgs, a[i]) >= 0 {
					takes = i == len(a)-1
					break
				}
			}
		}
		opts = append(opts, a)
		if takes && len(args) > 0 {
			opts = append(opts, args[0])
			args = args[1:]
		}
	}
	if !pattern {
		if len(files) == 0 {
			p.Err.WriteString("/usr/bin/" + name + ": 1: missing pattern; try `/usr/bin/" + name + " --help' for help\n")
			return 2
		}
		opts = append(opts, "-e", files[0])
		files = files[1:]
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	if len(files) > 1 && !silentNames {
		named = true
	}
	status := 1
	for _, f := range files {
		in, err := program.OpenPlain(p, f)
		if err != nil {
			p.Out.Flush()
			p.Err.WriteString("gzip: " + f + ": " + proc.Strerror(err) + "\n")
			status = 2
			continue
		}
		argv := append([]string{tool}, opts...)
		if named {
			argv = append(argv, "-H")
		}
		label := f
		if f == "-" {
			label = "(standard input)"
		}
		child := p.Child(append(argv, "--label="+label, "--", "-")...)
		child.Stdin = in
		got := p.Exec(ctx, child)
		if err := in.Close(); err != nil {
			p.Errorf("%s: %s", f, proc.Strerror(err))
		}
		if got > 1 || got == 0 && status == 1 {
			status = got
		}
	}
	return status
}

// zdiff runs diff or cmp on the content of two files that may be compressed; with one operand the other is
// the name without its suffix.
func zdiff(ctx context.Context, p *proc.Process) int {
	name := p.Name()
	tool := "diff"
	if strings.HasSuffix(name, "cmp") {
		tool = "cmp"
	}
	var opts, files []string
	for _, a := range p.Args[1:] {
		if len(a) > 1 && a[0] == '-' {
			opts = append(opts, a)
		} else {
			files = append(files, a)
		}
	}
	if len(files) == 1 {
		plain := files[0]
		for _, s := range []string{".gz", ".Z", ".z", ".bz2", ".xz", ".lzma", ".zst"} {
			if t, ok := strings.CutSuffix(plain, s); ok {
				plain = t
				break
			}
		}
		if plain == files[0] {
			p.Err.WriteString(p.Args[0] + ": " + plain + ": unknown compressed file extension\n")
			return 2
		}
		files = append(files, plain)
	}
	if len(files) != 2 {
		p.Err.WriteString("/usr/bin/" + name + ": invalid number of operands; try `/usr/bin/" + name + " --help' for help\n")
		return 2
	}
	// One side is standard input; if both are compressed the first is descriptor 5.
	child := p.Child()
	first, err := compressed(p, files[0])
	if err != nil {
		p.Err.WriteString("gzip: " + files[0] + ": " + proc.Strerror(err) + "\n")
		return 2
	}
	second, err := compressed(p, files[1])
	if err != nil {
		if first != nil {
			_ = first.Close()
		}
		p.Err.WriteString("gzip: " + files[1] + ": " + proc.Strerror(err) + "\n")
		return 2
	}
	switch {
	case first != nil && second != nil:
		files = []string{"/dev/fd/5", "-"}
		child.Stdin = second
		child.FD = func(n int) (any, bool) {
			if n == 5 {
				return first, true
			}
			return p.FD(n)
		}
	case first != nil:
		files[0], child.Stdin = "-", first
	case second != nil:
		files[1], child.Stdin = "-", second
	}
	child.Args = append(append([]string{tool}, opts...), files...)
	status := p.Exec(ctx, child)
	for _, c := range []io.Closer{first, second} {
		if r, ok := c.(*program.PlainReader); ok && r != nil {
			_ = r.Close()
		}
	}
	return status
}

// compressed opens a file that is compressed; nil for any other.
func compressed(p *proc.Process, name string) (*program.PlainReader, error) {
	if name == "-" {
		return nil, nil
	}
	in, err := p.OpenInput(name)
	if err != nil {
		return nil, err
	}
	var head [6]byte
	n, err := io.ReadFull(in, head[:])
	if err := in.Close(); err != nil {
		return nil, err
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if archive.Detect(head[:n]) == archive.None {
		return nil, nil
	}
	r, err := program.OpenPlain(p, name)
	if err != nil {
		return nil, err
	}
	plain, _ := r.(*program.PlainReader)
	return plain, nil
}
