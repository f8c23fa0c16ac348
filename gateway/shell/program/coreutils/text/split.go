package text

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var splitSpec = getopt.New("a:b:C:del:n:t:ux0123456789",
	"suffix-length:=a additional-suffix: bytes:=b line-bytes:=C lines:=l number:=n elide-empty-files=e filter: numeric-suffixes:: hex-suffixes:: "+
		"separator:=t unbuffered=u verbose").
	WithUsage("[OPTION]... [FILE [PREFIX]]",
		"Output pieces of FILE to PREFIXaa, PREFIXab, ...; default size is 1000 lines, and default PREFIX is 'x'.")

type splitter struct {
	ctx       context.Context
	p         *proc.Process
	input     vfs.Stat // of the input, when it is a file
	prefix    string
	suffix    string
	alphabet  string
	length    int // of the suffix
	fixed     bool
	started   bool // the first number is given
	separated bool
	next      int // number of the next file
	verbose   bool
	elide     bool
	sep       byte
	out       vfs.File
	outWriter *proc.Writer
	filter    string // the command that gets each piece
	piece     []byte // for the filter
	file      string // what $FILE is for it
	filtering bool
}

func (s *splitter) fail(format string, args ...any) {
	s.p.Errorf(format, args...)
	s.p.Exit(1)
}

func split(ctx context.Context, p *proc.Process) int {
	opts, args := splitSpec.Parse(p)
	s := &splitter{ctx: ctx, p: p, prefix: "x", alphabet: "abcdefghijklmnopqrstuvwxyz", length: 2, sep: '\n'}
	mode, size, digits := byte(0), int64(1000), ""
	chunk := ""
	setMode := func(m byte) {
		if mode != 0 && !(m == mode && m == '0') {
			splitSpec.Fail(p, "cannot split in more than one way")
		}
		mode = m
	}
	count := func(what, v string) int64 {
		n, problem := program.ParseCount(v, program.SizeSuffixes)
		if problem == program.NumberOverflow {
			return n
		}
		if problem != program.NumberOK {
			s.fail("invalid number of %s: %s", what, program.Quote(v))
		}
		if n == 0 {
			s.fail("invalid number of %s: %s: Numerical result out of range", what, program.Quote(v))
		}
		return n
	}
	for _, o := range opts {
		switch o.Key {
		case "a":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK || n > 250 {
				s.fail("invalid suffix length: %s", program.Quote(o.Value))
			}
			if n > 0 {
				s.length, s.fixed = int(n), true
			}
		case "additional-suffix":
			if strings.Contains(o.Value, "/") {
				s.p.Errorf("invalid suffix %s, contains directory separator", program.Quote(o.Value))
				splitSpec.Hint(p)
			}
			s.suffix = o.Value
		case "b":
			setMode('b')
			size = count("bytes", o.Value)
		case "C":
			setMode('C')
			size = count("bytes", o.Value)
		case "l":
			setMode('l')
			size = count("lines", o.Value)
		case "n":
			setMode('n')
			chunk = o.Value
		case "d", "numeric-suffixes", "x", "hex-suffixes":
			s.alphabet = "0123456789"
			if o.Key == "x" || o.Key == "hex-suffixes" {
				s.alphabet = "0123456789abcdef"
			}
			if o.Has {
				n, err := strconv.ParseUint(o.Value, len(s.alphabet), 31)
				if err != nil {
					what := "numerical"
					if len(s.alphabet) == 16 {
						what = "hexadecimal"
					}
					splitSpec.Fail(p, "%s: invalid start value for %s suffix", program.Quote(o.Value), what)
				}
				s.next, s.started = int(n), true
			}
		case "e":
			s.elide = true
		case "filter":
			s.filter = o.Value
		case "t":
			given := s.sep
			switch {
			case o.Value == "":
				s.fail("empty record separator")
			case o.Value == `\0`:
				s.sep = 0
			case len(o.Value) > 1:
				s.fail("multi-character separator %s", program.Quote(o.Value))
			default:
				s.sep = o.Value[0]
			}
			if s.separated && s.sep != given {
				s.fail("multiple separator characters specified")
			}
			s.separated = true
		case "verbose":
			s.verbose = true
		case "u":
		default:
			setMode('0')
			digits += o.Key
		}
	}
	var kind byte
	var k, n int64
	if mode == 'n' {
		kind, k, n = s.parseChunks(chunk)
	}
	if mode == '0' {
		size = count("lines", digits)
	}
	s.suffixLength(mode == 'n', n)
	if len(args) > 2 {
		splitSpec.Fail(p, "extra operand %s", program.Quote(args[2]))
	}
	if k > 0 && s.filter != "" {
		splitSpec.Fail(p, "--filter does not process a chunk extracted to stdout")
	}
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	if len(args) > 1 {
		s.prefix = args[1]
	}
	r, err := p.OpenInput(name)
	if err != nil {
		s.fail("cannot open %s for reading: %s", program.QuoteName(name), proc.Strerror(err))
	}
	defer r.Close()
	if f, ok := r.(vfs.File); ok {
		s.input, _ = f.Stat()
	}
	switch mode {
	case 'b':
		err = s.bytes(r, size)
	case 'C':
		err = s.lineBytes(r, size)
	case 'n':
		err = s.chunks(r, name, kind, k, n)
	default:
		err = s.lines(r, size)
	}
	if err != nil {
		s.fail("%s: %s", program.QuoteColon(name), proc.Strerror(err))
	}
	s.close()
	return 0
}

// suffixLength settles the length of the suffixes: files whose number is known have as much as they need, and numbers
// that do not begin at zero do not grow.
func (s *splitter) suffixLength(chunked bool, n int64) {
	base := len(s.alphabet)
	digits := func(n int64) int {
		k := 1
		for ; n >= int64(base); n /= int64(base) {
			k++
		}
		return k
	}
	if chunked {
		need := digits(max(n-1, 0))
		if s.started && int64(s.next) < n {
			need = digits(n - 1 + int64(s.next))
		}
		if s.fixed && s.length < need {
			s.fail("the suffix length needs to be at least %d", need)
		}
		if !s.fixed {
			s.length = max(2, need)
		}
		s.fixed = true
	}
	if s.started {
		s.fixed = true
		if digits(int64(s.next)) > s.length {
			splitSpec.Fail(s.p, "numerical suffix start value is too large for the suffix length")
		}
	}
}

func (s *splitter) opened() bool { return s.out != nil || s.filtering }

// open starts the next file.
func (s *splitter) open() {
	s.close()
	name := s.prefix + s.number() + s.suffix
	if s.filter != "" {
		if s.verbose {
			s.p.Out.WriteString("executing with FILE=" + program.QuoteColon(name) + "\n")
		}
		s.file, s.filtering = name, true
		s.next++
		return
	}
	if s.verbose {
		s.p.Out.WriteString("creating file " + program.QuoteName(name) + "\n")
	}
	if st, err := s.p.Stat(name); err == nil && st.Kind == vfs.Regular && st.Ino == s.input.Ino {
		s.fail("%s would overwrite input; aborting", program.QuoteName(name))
	}
	f, err := s.p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		s.fail("%s: %s", program.QuoteColon(name), proc.Strerror(err))
	}
	s.out, s.outWriter = f, proc.NewWriter(f, s.p)
	s.next++
}

func (s *splitter) close() {
	if s.filtering {
		s.filtering = false
		s.runFilter()
		return
	}
	if s.out == nil {
		return
	}
	s.outWriter.Flush()
	if err := s.out.Close(); err != nil {
		s.fail("%s", proc.Strerror(err))
	}
	s.out = nil
}

// write adds to the current piece.
func (s *splitter) write(b []byte) {
	if s.filtering {
		s.p.Hold(len(b))
		s.piece = append(s.piece, b...)
		return
	}
	s.outWriter.Write(b)
}

// runFilter gives the piece to the filter.
func (s *splitter) runFilter() {
	p := s.p
	child := p.Shell(s.filter, bytes.NewReader(s.piece), nil)
	if sh := p.Getenv("SHELL"); sh != "" {
		child.Args[0] = sh
	}
	child.Env = p.Variables().Set("FILE=" + s.file)
	status := p.Exec(s.ctx, child)
	p.Release(len(s.piece))
	s.piece = s.piece[:0]
	if status != 0 {
		p.Errorf("with FILE=%s, exit %d from command: %s", s.file, status, s.filter)
		p.Exit(status)
	}
}

// number is the suffix of the next file. Unless -a fixes its length it grows: after yz come zaaa, zaab and so on.
func (s *splitter) number() string {
	n, base := s.next, len(s.alphabet)
	width := s.length
	lead := ""
	if !s.fixed {
		// With the default length the last letter is never first: it announces a longer suffix.
		limit := pow(base, width-1) * (base - 1)
		for n >= limit {
			n -= limit
			lead += s.alphabet[base-1:]
			width++
			limit = pow(base, width-1) * (base - 1)
			if width > 6 {
				s.fail("output file suffixes exhausted")
			}
		}
	} else if width < 12 && n >= pow(base, width) {
		s.fail("output file suffixes exhausted")
	}
	b := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		b[i] = s.alphabet[n%base]
		n /= base
	}
	return lead + string(b)
}

func pow(b, e int) int {
	v := 1
	for range e {
		v *= b
	}
	return v
}

func (s *splitter) lines(r io.Reader, size int64) error {
	l := program.NewLineReader(s.p, r, s.sep)
	defer l.Close()
	for n := int64(0); ; n++ {
		line, ok := l.Next()
		if !ok {
			return l.Err
		}
		if n%size == 0 {
			s.open()
		}
		s.write(line)
	}
}

func (s *splitter) bytes(r io.Reader, size int64) error {
	left := int64(0)
	return program.ReadBlocks(s.p, r, func(b []byte) {
		for len(b) > 0 {
			if left == 0 {
				s.open()
				left = size
			}
			n := min(left, int64(len(b)))
			s.write(b[:n])
			b, left = b[n:], left-n
		}
	})
}

// lineBytes puts as many whole lines into a file as fit; a longer line is cut.
func (s *splitter) lineBytes(r io.Reader, size int64) error {
	l := program.NewLineReader(s.p, r, s.sep)
	defer l.Close()
	used := int64(0)
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		if !s.opened() || used > 0 && used+int64(len(line)) > size {
			s.open()
			used = 0
		}
		for int64(len(line)) > size-used {
			n := size - used
			s.write(line[:n])
			line = line[n:]
			s.open()
			used = 0
		}
		s.write(line)
		used += int64(len(line))
	}
	return l.Err
}

// parseChunks reads -n: N, K/N, l/N, l/K/N, r/N and r/K/N.
func (s *splitter) parseChunks(spec string) (kind byte, k, n int64) {
	rest := spec
	if len(rest) > 2 && (rest[0] == 'l' || rest[0] == 'r') && rest[1] == '/' {
		kind, rest = rest[0], rest[2:]
	}
	first, second, both := strings.Cut(rest, "/")
	total := first
	if both {
		total = second
	}
	var problem program.NumberProblem
	n, problem = program.ParseCount(total, "")
	if problem != program.NumberOK {
		s.fail("invalid number of chunks: %s", program.Quote(total))
	}
	if n == 0 {
		s.fail("invalid number of chunks: %s: Numerical result out of range", program.Quote(total))
	}
	if both {
		k, problem = program.ParseCount(first, "")
		if problem != program.NumberOK {
			s.fail("invalid chunk number: %s", program.Quote(first))
		}
		if k == 0 || k > n {
			s.fail("invalid chunk number: %s: Numerical result out of range", program.Quote(first))
		}
	}
	return kind, k, n
}

// chunks divides into n parts; with k only that one is printed.
func (s *splitter) chunks(r io.Reader, name string, kind byte, k, n int64) error {
	if n > 100000 {
		s.fail("output file suffixes exhausted")
	}
	if _, ok := r.(io.Seeker); !ok && kind != 'r' {
		s.fail("%s: cannot determine file size", program.QuoteColon(name))
	}
	data, err := s.p.ReadAll(r)
	if err != nil {
		return err
	}
	defer s.p.Release(cap(data))
	parts := make([][]byte, n)
	size := int64(len(data)) / n
	switch kind {
	case 'r':
		i := int64(0)
		for rest := data; len(rest) > 0; i++ {
			end := bytes.IndexByte(rest, s.sep) + 1
			if end == 0 {
				end = len(rest)
			}
			parts[i%n] = append(parts[i%n], rest[:end]...)
			rest = rest[end:]
			s.p.Tick(1)
		}
	case 'l':
		at := int64(0)
		for i := range parts {
			// A line belongs to the part in which it begins.
			end := size * int64(i+1)
			if i == len(parts)-1 {
				end = int64(len(data))
			}
			stop := max(at, end)
			if stop > 0 && stop < int64(len(data)) && stop > at && data[stop-1] != s.sep {
				if j := bytes.IndexByte(data[stop:], s.sep); j >= 0 {
					stop += int64(j) + 1
				} else {
					stop = int64(len(data))
				}
			}
			parts[i], at = data[at:stop], stop
		}
	default:
		size = max(size, 1)
		for i := range parts {
			from := min(size*int64(i), int64(len(data)))
			parts[i] = data[from:min(from+size, int64(len(data)))]
		}
		parts[n-1] = data[min(size*(n-1), int64(len(data))):] // with what is left over
	}
	if k > 0 {
		s.p.Out.Write(parts[k-1])
		return nil
	}
	for _, part := range parts {
		if s.elide && len(part) == 0 {
			continue
		}
		s.open()
		s.write(part)
	}
	return nil
}
