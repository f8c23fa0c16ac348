package text

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var shufSpec = getopt.New("ei:n:o:rz",
	"echo=e input-range:=i head-count:=n output:=o random-source: repeat=r zero-terminated=z").
	WithUsage("[OPTION]... [FILE]\n  or:  shuf -e [OPTION]... [ARG]...\n  or:  shuf -i LO-HI [OPTION]...",
		"Write a random permutation of the input lines to standard output.")

// randomBytes draws numbers out of a stream of bytes. Every byte is used up to its last bit of randomness, in the order
// GNU tools do, so that the same --random-source gives the same permutation.
type randomBytes struct {
	p        *proc.Process
	r        io.Reader // nil: our own generator
	name     string
	num, max uint64
}

// below returns a number from 0 to n-1.
func (s *randomBytes) below(n uint64) uint64 {
	if s.r == nil {
		return rand.Uint64N(n)
	}
	highest := n - 1
	for {
		var b [1]byte
		for s.max < highest {
			if _, err := io.ReadFull(s.r, b[:]); err != nil {
				if errors.Is(err, io.EOF) {
					s.p.Errorf("%s: end of file", program.Quote(s.name))
				} else {
					s.p.Errorf("%s: read error: %s", program.Quote(s.name), proc.Strerror(err))
				}
				s.p.Exit(1)
			}
			s.num = s.num<<8 + uint64(b[0])
			s.max = s.max<<8 + 255
		}
		if s.max == highest {
			v := s.num
			s.num, s.max = 0, 0
			return v
		}
		excess := s.max - highest
		unusable := excess % n
		v := s.num % n
		if s.num <= s.max-unusable {
			s.num, s.max = s.num/n, excess/n
			return v
		}
		s.num, s.max = v, unusable-1
	}
}

// permute calls f with the first k elements of a random permutation of n.
func (s *randomBytes) permute(p *proc.Process, k, n uint64, f func(i uint64)) {
	if k == 0 {
		return
	}
	if k == 1 {
		f(s.below(n))
		return
	}
	// With few of many only the places that were swapped are kept.
	sparse := n >= 128<<10 && n/k >= 32
	if sparse {
		p.Hold(int(min(k, math.MaxInt/64) * 64))
		defer p.Release(int(k * 64))
		moved := map[uint64]uint64{}
		at := func(i uint64) uint64 {
			if v, ok := moved[i]; ok {
				return v
			}
			return i
		}
		for i := range k {
			p.Tick(1)
			j := i + s.below(n-i)
			v, w := at(i), at(j)
			moved[j] = v
			delete(moved, i)
			f(w)
		}
		return
	}
	if n > math.MaxInt/8 {
		p.Hold(math.MaxInt)
	}
	p.Hold(int(n * 8))
	defer p.Release(int(n * 8))
	v := make([]uint64, n)
	for i := range v {
		v[i] = uint64(i)
	}
	for i := range k {
		p.Tick(1)
		j := i + s.below(n-i)
		v[i], v[j] = v[j], v[i]
	}
	for _, i := range v[:k] {
		f(i)
	}
}

type shufRun struct {
	p       *proc.Process
	source  *randomBytes
	count   uint64
	limited bool
	end     byte
}

func shuf(_ context.Context, p *proc.Process) int {
	opts, args := shufSpec.Parse(p)
	s := &shufRun{p: p, source: &randomBytes{p: p}, count: math.MaxUint64, end: '\n'}
	var echo, repeat, hasRange, hasOutput, hasSource bool
	var low, high uint64
	var output string
	for _, o := range opts {
		switch o.Key {
		case "e":
			echo = true
		case "i":
			if hasRange {
				p.Errorf("multiple -i options specified")
				return 1
			}
			low, high = shufRange(p, o.Value)
			hasRange = true
		case "n":
			n, problem := program.ParseCount(o.Value, "")
			if problem == program.NumberInvalid {
				p.Errorf("invalid line count: %s", program.Quote(o.Value))
				return 1
			}
			s.count, s.limited = min(s.count, uint64(n)), true
		case "o":
			if hasOutput && output != o.Value {
				p.Errorf("multiple output files specified")
				return 1
			}
			output, hasOutput = o.Value, true
		case "random-source":
			if hasSource && s.source.name != o.Value {
				p.Errorf("multiple random sources specified")
				return 1
			}
			s.source.name, hasSource = o.Value, true
		case "r":
			repeat = true
		case "z":
			s.end = 0
		}
	}
	switch {
	case hasRange && echo:
		shufSpec.Fail(p, "cannot combine -e and -i options")
	case hasRange && len(args) > 0:
		shufSpec.Fail(p, "extra operand %s", program.Quote(args[0]))
	case !echo && len(args) > 1:
		shufSpec.Fail(p, "extra operand %s", program.Quote(args[1]))
	}
	if s.count == 0 && s.limited && !hasOutput {
		return 0 // nothing is read
	}
	var lines [][]byte
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	reservoir := false
	size := uint64(0)
	var sample func() [][]byte
	switch {
	case echo:
		for _, a := range args {
			lines = append(lines, []byte(a))
		}
		size = uint64(len(lines))
	case hasRange:
		size = high - low + 1
	default:
		in, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			return 1
		}
		defer in.Close()
		reservoir = !repeat && s.limited && !smallFile(in)
		if reservoir {
			sample = func() [][]byte { return s.sample(in) }
		} else {
			lines = s.readLines(in)
			size = uint64(len(lines))
		}
	}
	if hasSource {
		f, err := p.Open(s.source.name, vfs.ReadOnly, 0)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(s.source.name), proc.Strerror(err))
			return 1
		}
		defer f.Close()
		s.source.r = &smallReads{r: f}
	}
	if reservoir {
		lines = sample()
		size = uint64(len(lines))
	}
	out := p.Out
	if hasOutput {
		f, err := p.Open(output, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(output), proc.Strerror(err))
			return 1
		}
		defer f.Close()
		out = proc.NewWriter(f, p)
		defer out.Flush()
	}
	put := func(i uint64) {
		if hasRange {
			var b [24]byte
			out.Write(append(strconv.AppendUint(b[:0], low+i, 10), s.end))
			return
		}
		out.Write(lines[i])
		out.WriteByte(s.end)
	}
	if repeat {
		if size == 0 && s.count > 0 {
			p.Errorf("no lines to repeat")
			return 1
		}
		for range s.count {
			p.Tick(1)
			put(s.source.below(size))
		}
		return 0
	}
	s.source.permute(p, min(s.count, size), size, put)
	return 0
}

// smallReads buffers single bytes.
type smallReads struct {
	r   io.Reader
	buf []byte
	err error
}

func (s *smallReads) Read(b []byte) (int, error) {
	if len(s.buf) == 0 && s.err == nil {
		buf := make([]byte, 4096)
		n, err := s.r.Read(buf)
		s.buf, s.err = buf[:n], err
	}
	if len(s.buf) == 0 {
		return 0, s.err
	}
	n := copy(b, s.buf)
	s.buf = s.buf[n:]
	return n, nil
}

func smallFile(r io.Reader) bool {
	f, ok := r.(vfs.File)
	if !ok || !program.IsRegular(f) {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Size <= 8<<20
}

func shufRange(p *proc.Process, s string) (low, high uint64) {
	a, b, ok := strings.Cut(s, "-")
	if !ok {
		p.Errorf("invalid input range: %s", program.Quote(s))
		p.Exit(1)
	}
	number := func(t string) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(t, "+"), 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			p.Errorf("invalid input range: %s: Value too large for defined data type", program.Quote(t))
			p.Exit(1)
		case err != nil:
			p.Errorf("invalid input range: %s", program.Quote(t))
			p.Exit(1)
		}
		return n
	}
	low, high = number(a), number(b)
	// An empty range is allowed only as N to N-1.
	if low > high && low != high+1 || low == 0 && high == math.MaxUint64 {
		p.Errorf("invalid input range: %s", program.Quote(s))
		p.Exit(1)
	}
	return low, high
}

func (s *shufRun) readError(err error) {
	s.p.Errorf("read error: %s", proc.Strerror(err))
	s.p.Exit(1)
}

func (s *shufRun) readLines(r io.Reader) [][]byte {
	data, err := s.p.ReadAll(r)
	if err != nil {
		s.readError(err)
	}
	n := bytes.Count(data, []byte{s.end}) + 1
	s.p.Hold(n * 24)
	lines := make([][]byte, 0, n)
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{s.end})
		lines = append(lines, line)
		data = rest
	}
	return lines
}

// sample keeps as many lines as asked for, each with equal chance.
func (s *shufRun) sample(r io.Reader) [][]byte {
	l := program.NewLineReader(s.p, r, s.end)
	defer l.Close()
	var kept [][]byte
	n := uint64(0)
	for n < s.count {
		line, ok := l.Next()
		if !ok {
			break
		}
		s.p.Hold(len(line) + 24)
		kept = append(kept, bytes.Clone(program.Chomp(line, s.end)))
		n++
	}
	if n == s.count && n > 0 {
		for {
			j := s.source.below(n + 1)
			line, ok := l.Next()
			if !ok {
				break
			}
			n++
			if j < s.count {
				s.p.Hold(len(line))
				s.p.Release(len(kept[j]))
				kept[j] = append(kept[j][:0], program.Chomp(line, s.end)...)
			}
		}
	}
	if l.Err != nil {
		s.readError(l.Err)
	}
	return kept
}
