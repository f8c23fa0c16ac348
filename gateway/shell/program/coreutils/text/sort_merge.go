package text

import (
	"bytes"
	"io"
	"slices"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// sortSource is a sorted input of a merge.
type sortSource struct {
	lines  *program.LineReader
	name   string
	done   func()
	line   []byte
	prefix uint64
	index  int // of the source: the earlier of equal lines is from the earlier one
}

// sources opens the inputs of -m. Those that are the output too are read at once, before that is emptied.
func (s *sorter) sources(names []string, output string, has bool) []*sortSource {
	var in []*sortSource
	for _, name := range names {
		r, err := s.p.OpenInput(name)
		if err != nil {
			s.fail("cannot read: %s: %s", program.QuoteColon(name), proc.Strerror(err))
		}
		done := func() { _ = r.Close() }
		var from io.Reader = r
		if has && name == output {
			data, err := s.p.ReadAll(r)
			if err != nil {
				s.fail("read failed: %s: %s", program.QuoteColon(name), proc.Strerror(err))
			}
			from = bytes.NewReader(data)
		}
		in = append(in, &sortSource{lines: program.NewLineReader(s.p, from, s.delim), name: name, done: done})
	}
	return in
}

// advance reads the next line of a source.
func (s *sorter) advance(src *sortSource) bool {
	raw, ok := src.lines.Next()
	if src.lines.Err != nil {
		s.fail("read failed: %s: %s", program.QuoteColon(src.name), proc.Strerror(src.lines.Err))
	}
	src.line = program.Chomp(raw, s.delim)
	if s.plain {
		if src.prefix = bigEndian(src.line); s.reverse {
			src.prefix = ^src.prefix
		}
	} else {
		src.prefix = s.prefix(&s.keys[0], s.extract(&s.keys[0], src.line))
	}
	return ok
}

// before reports whether the line of a goes before that of b.
func (s *sorter) before(a, b *sortSource) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	if r := s.compare(a.line, b.line); r != 0 {
		return r < 0
	}
	return a.index < b.index
}

// merge writes the lines of sorted sources in order. They are in a heap.
func (s *sorter) merge(in []*sortSource, w io.Writer) {
	for _, src := range in {
		defer src.done()
		defer src.lines.Close()
	}
	for i, src := range in {
		src.index = i
	}
	in = slices.DeleteFunc(slices.Clone(in), func(src *sortSource) bool { return !s.advance(src) })
	sift := func(i int) {
		for {
			least := i
			for c := 2*i + 1; c <= 2*i+2 && c < len(in); c++ {
				if s.before(in[c], in[least]) {
					least = c
				}
			}
			if least == i {
				return
			}
			in[i], in[least] = in[least], in[i]
			i = least
		}
	}
	for i := len(in)/2 - 1; i >= 0; i-- {
		sift(i)
	}
	var last []byte
	first, end := true, []byte{s.delim}
	for len(in) > 0 {
		s.p.Tick(1)
		line := in[0].line
		if !s.unique || first || s.compareKeys(s.keys, last, line) != 0 {
			_, _ = w.Write(line)
			_, _ = w.Write(end)
			if s.unique {
				last, first = append(last[:0], line...), false
			}
		}
		if !s.advance(in[0]) {
			in[0] = in[len(in)-1]
			in = in[:len(in)-1]
		}
		sift(0)
	}
}

// sortedBatch reads the lines of a sorted batch.
type sortedBatch struct {
	lines []sortLine
	text  []byte
	delim byte
	at    int // in the first line
}

func (b *sortedBatch) Read(d []byte) (n int, err error) {
	for n < len(d) && len(b.lines) > 0 {
		l := b.lines[0]
		if rest := b.text[int(l.off)+b.at : l.off+l.size]; len(rest) > 0 {
			k := copy(d[n:], rest)
			n += k
			b.at += k
			continue
		}
		d[n] = b.delim
		n++
		b.lines, b.at = b.lines[1:], 0
	}
	if n == 0 && len(b.lines) == 0 {
		return 0, io.EOF
	}
	return n, nil
}
