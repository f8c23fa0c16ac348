package text

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"io"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// errIncomplete is input that an encoding without padding cannot show.
var errIncomplete = errors.New("incomplete group")

var base64Spec = getopt.New("diw:", "decode=d ignore-garbage=i wrap:=w").
	WithUsage("[OPTION]... [FILE]", "Encode or decode FILE, or standard input, to standard output.")

// radix is an encoding in groups: in bytes become out characters.
type radix struct {
	in, out int
	encode  func(dst, src []byte)
	decode  func(dst, src []byte) (int, error)
	valid   func(c byte) bool
	whole   bool // no padding: groups must be complete
}

func base64Main(_ context.Context, p *proc.Process) int {
	return baseEncode(p, base64Spec, base64Radix)
}

func base32Main(_ context.Context, p *proc.Process) int {
	return baseEncode(p, base64Spec, base32Radix)
}

var (
	base64Radix = radix{
		in: 3, out: 4, encode: base64.StdEncoding.Encode, decode: base64.StdEncoding.Decode,
		valid: func(c byte) bool { return program.IsAlpha(c) || program.IsDigit(c) || c == '+' || c == '/' },
	}
	base32Radix = radix{
		in: 5, out: 8, encode: base32.StdEncoding.Encode, decode: base32.StdEncoding.Decode,
		valid: func(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '2' && c <= '7' },
	}
)

func baseEncode(p *proc.Process, spec *getopt.Spec, r radix) int {
	opts, args := spec.Parse(p)
	decode, garbage, wrap := false, false, int64(76)
	for _, o := range opts {
		switch o.Key {
		case "d":
			decode = true
		case "i":
			garbage = true
		case "w":
			var problem program.NumberProblem
			if wrap, problem = program.ParseCount(o.Value, ""); problem == program.NumberInvalid {
				p.Errorf("invalid wrap size: %s", program.Quote(o.Value))
				return 1
			}
		}
	}
	if len(args) > 1 {
		spec.Fail(p, "extra operand %s", program.Quote(args[1]))
	}
	name := "-"
	if len(args) == 1 {
		name = args[0]
	}
	in, err := p.OpenInput(name)
	if err != nil {
		p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
		return 1
	}
	defer in.Close()
	if decode {
		ok := false
		if ok, err = r.decodeStream(p, in, garbage); err == nil && !ok {
			p.Errorf("invalid input")
			return 1
		}
	} else {
		err = r.encodeStream(p, in, wrap)
		if errors.Is(err, errIncomplete) {
			p.Errorf("invalid input (length must be multiple of 4 characters)")
			return 1
		}
	}
	if err != nil {
		p.Errorf("read error: %s", proc.Strerror(err))
		return 1
	}
	return 0
}

// z85Block is how much of the input is checked before any of it is written.
const z85Block = 30 << 10

func (r radix) encodeStream(p *proc.Process, in io.Reader, wrap int64) error {
	var carry []byte
	column := int64(0)
	out := make([]byte, 0, ((program.BufferSize+z85Block)/r.in+2)*r.out)
	emit := func(b []byte) {
		out = out[:(len(b)+r.in-1)/r.in*r.out]
		r.encode(out, b)
		if wrap == 0 {
			p.Out.Write(out)
			return
		}
		for rest := out; len(rest) > 0; {
			n := min(int64(len(rest)), wrap-column)
			p.Out.Write(rest[:n])
			rest = rest[n:]
			if column += n; column == wrap {
				p.Out.WriteByte('\n')
				column = 0
			}
		}
	}
	err := program.ReadBlocks(p, in, func(b []byte) {
		carry = append(carry, b...)
		if r.whole && len(carry) < z85Block {
			return
		}
		n := len(carry) / r.in * r.in
		emit(carry[:n])
		carry = append(carry[:0], carry[n:]...)
	})
	if err != nil {
		return err
	}
	if r.whole && len(carry)%r.in > 0 {
		return errIncomplete
	}
	emit(carry)
	if wrap > 0 && column > 0 {
		p.Out.WriteByte('\n')
	}
	return nil
}

// decodeStream writes what it can decode before the first bad character.
func (r radix) decodeStream(p *proc.Process, in io.Reader, garbage bool) (ok bool, err error) {
	var group []byte
	out := make([]byte, 8)
	ok = true
	flush := func() {
		full := append([]byte(nil), group...)
		for len(full) < r.out {
			full = append(full, '=')
		}
		complete := len(group) == r.out
		n, err := r.decode(out, full)
		if r.whole && !complete {
			err = errIncomplete
		}
		if err != nil || !complete {
			ok = false
			if err != nil {
				n = r.partial(out, group)
			}
		}
		p.Out.Write(out[:n])
		group = group[:0]
	}
	err = program.ReadBlocks(p, in, func(b []byte) {
		for _, c := range b {
			if !ok {
				return
			}
			if c == '\n' {
				continue
			}
			switch {
			case r.valid(c):
			case c == '=' && len(group) > 0 && !r.whole && r.in > 1:
			case garbage:
				continue
			default:
				if len(group) > 0 {
					flush()
				}
				ok = false
				return
			}
			if c != '=' && !r.whole && len(group) > 0 && group[len(group)-1] == '=' {
				flush()
				ok = false
				return
			}
			if group = append(group, c); len(group) == r.out {
				flush()
			}
		}
	})
	if err == nil && ok && len(group) > 0 {
		flush()
	}
	return ok, err
}

// partial decodes the whole bytes of a group that is cut short.
func (r radix) partial(out, group []byte) int {
	if r.whole {
		return 0
	}
	n := 0
	for n < len(group) && group[n] != '=' {
		n++
	}
	bytes := n * r.in / r.out
	if bytes == 0 {
		return 0
	}
	full := append([]byte(nil), group[:n]...)
	for len(full) < r.out {
		full = append(full, 'A')
	}
	if _, err := r.decode(out, full); err != nil {
		return 0
	}
	return bytes
}
