package file

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var truncateSpec = getopt.New("cor:s:", "no-create=c io-blocks=o reference:=r size:=s").
	WithUsage("OPTION... FILE...", "Shrink or extend the size of each FILE to the specified size.")

// newSize is the argument of truncate -s: a number and how it relates to the present size.
type newSize struct {
	relation byte // 0, or one of +<>/%; a negative number belongs to +
	n        int64
}

func truncate(_ context.Context, p *proc.Process) int {
	opts, args := truncateSpec.Parse(p)
	var size newSize
	var noCreate, blocks, hasSize, hasRef bool
	var ref string
	for _, o := range opts {
		switch o.Key {
		case "c":
			noCreate = true
		case "o":
			blocks = true
		case "r":
			ref, hasRef = o.Value, true
		case "s":
			size, hasSize = parseNewSize(p, o.Value), true
		}
	}
	switch {
	case !hasRef && !hasSize:
		truncateSpec.Fail(p, "you must specify either %s or %s", program.Quote("--size"), program.Quote("--reference"))
	case hasRef && hasSize && size.relation == 0:
		truncateSpec.Fail(p, "you must specify a relative %s with %s", program.Quote("--size"), program.Quote("--reference"))
	case blocks && !hasSize:
		truncateSpec.Fail(p, "%s was specified but %s was not", program.Quote("--io-blocks"), program.Quote("--size"))
	case len(args) == 0:
		truncateSpec.Fail(p, "missing file operand")
	}
	base := int64(-1)
	if hasRef {
		st, err := p.Stat(ref)
		if err != nil {
			p.Errorf("cannot stat %s: %s", program.QuoteName(ref), proc.Strerror(err))
			return 1
		}
		base = st.Size
		if !hasSize {
			size, base = newSize{0, st.Size}, -1
		}
	}
	status := 0
	for _, name := range args {
		if !truncateFile(p, name, size, base, noCreate, blocks) {
			status = 1
		}
	}
	return status
}

func parseNewSize(p *proc.Process, s string) newSize {
	var size newSize
	text := strings.TrimLeft(s, " \t\n\v\f\r")
	if text != "" && strings.IndexByte("<>/%", text[0]) >= 0 {
		size.relation = text[0]
		text = strings.TrimLeft(text[1:], " \t\n\v\f\r")
	}
	number, sign := text, int64(1)
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if size.relation != 0 {
			truncateSpec.Fail(p, "multiple relative modifiers specified")
		}
		size.relation, number = '+', text[1:]
		if text[0] == '-' {
			sign = -1
		}
	}
	v, problem := int64(0), program.NumberInvalid
	if number != "" && strings.IndexByte("+-", number[0]) < 0 {
		v, problem = program.ParseCount(number, "EgGkKmMPtTYZ0")
	}
	switch problem {
	case program.NumberInvalid:
		p.Errorf("Invalid number: %s", program.Quote(text))
		p.Exit(1)
	case program.NumberOverflow:
		p.Errorf("Invalid number: %s: Value too large for defined data type", program.Quote(text))
		p.Exit(1)
	}
	if (size.relation == '/' || size.relation == '%') && v == 0 {
		p.Errorf("division by zero")
		p.Exit(1)
	}
	size.n = sign * v
	return size
}

func truncateFile(p *proc.Process, name string, size newSize, base int64, noCreate, blocks bool) bool {
	flags := vfs.WriteOnly
	if !noCreate {
		flags |= vfs.Create
	}
	f, err := p.Open(name, flags, 0o666)
	if err != nil {
		if noCreate && errors.Is(err, vfs.ENOENT) {
			return true
		}
		p.Errorf("cannot open %s for writing: %s", program.QuoteName(name), proc.Strerror(err))
		return false
	}
	defer f.Close()
	n := size.n
	if blocks {
		if n > math.MaxInt64/statBlockSize || n < math.MinInt64/statBlockSize {
			p.Errorf("overflow in %d * %d byte blocks for file %s", n, statBlockSize, program.QuoteName(name))
			return false
		}
		n *= statBlockSize
	}
	if size.relation != 0 {
		if base < 0 {
			st, err := f.Stat()
			if err != nil {
				p.Errorf("cannot fstat %s: %s", program.QuoteName(name), proc.Strerror(err))
				return false
			}
			base = st.Size
		}
		over := false
		switch size.relation {
		case '<':
			n = min(n, base)
		case '>':
			n = max(n, base)
		case '/':
			n = base / n * n
		case '%':
			rest := base % n
			if rest > 0 {
				rest = n - rest
			}
			over = base > math.MaxInt64-rest
			n = base + rest
		default:
			over = n > math.MaxInt64-base
			n += base
		}
		if over {
			p.Errorf("overflow extending size of file %s", program.QuoteName(name))
			return false
		}
	}
	n = max(n, 0)
	if err := f.Truncate(n); err != nil {
		p.Errorf("failed to truncate %s at %d bytes: %s", program.QuoteName(name), n, proc.Strerror(err))
		return false
	}
	return true
}
