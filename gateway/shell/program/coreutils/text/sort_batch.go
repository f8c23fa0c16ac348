package text

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// sortLine is a line of a batch, with the beginning of its first key in a form that compares as a number. Offsets grow
// in the order of the input, so they decide between equal lines.
type sortLine struct {
	prefix     uint64
	next       uint64 // what follows prefix of a key that is text
	off, size  uint32 // in the batch's text
	start, end uint32 // the first key within the line
}

// A line of a batch costs its text and two sortLines: merging needs a second slice.
const sortLineCost = 2 * 32

// sortBatch is what is sorted in memory at a time.
type sortBatch struct {
	text   []byte
	parsed int // bytes of text that are in lines
	lines  []sortLine
	other  []sortLine
	held   int
}

// batchSize is how much memory a batch may take.
func (s *sorter) batchSize() int {
	return int(max(min(s.p.Budget.Limits.LiveBytes/5*2, 256<<20), 64<<10))
}

// sort sorts the lines of the inputs. What is more than a batch is sorted batch by batch into compressed runs in
// memory, which are merged at the end.
func (s *sorter) sort(names []string, write func(lines []sortLine, text []byte, runs []*sortSource)) {
	b := &sortBatch{}
	defer func() { s.p.Release(b.held) }()
	var runs []*sortSource
	full := s.batchSize()
	piece := min(1<<20, max(full/32, 4<<10)) // read at a time
	for _, name := range names {
		r, err := s.p.OpenInput(name)
		if err != nil {
			s.fail("cannot read: %s: %s", program.QuoteColon(name), proc.Strerror(err))
		}
		if f, ok := r.(vfs.File); ok && len(b.text) == 0 {
			if st, err := f.Stat(); err == nil && st.Kind == vfs.Regular {
				s.reserve(b, int(min(st.Size+1, int64(full/2))))
			}
		}
		for eof := false; !eof; {
			if len(b.text) == cap(b.text) {
				if len(b.lines) > 0 && len(b.text)+len(b.lines)*sortLineCost >= full {
					runs = append(runs, s.spill(b))
				} else {
					// Not more than the batch will hold if its lines go on as they began.
					n := max(2*cap(b.text), 64<<10)
					if cost := len(b.text) + len(b.lines)*sortLineCost; n > full/4 && len(b.lines) > 0 {
						n = max(min(n, int(float64(full)*float64(len(b.text))/float64(cost))), len(b.text)+piece)
					}
					s.reserve(b, n)
				}
			}
			n, err := r.Read(b.text[len(b.text):min(cap(b.text), len(b.text)+piece)])
			b.text = b.text[:len(b.text)+n]
			s.p.Tick(1 + n>>10)
			eof = errors.Is(err, io.EOF)
			if err != nil && !eof {
				s.fail("read failed: %s: %s", program.QuoteColon(name), proc.Strerror(err))
			}
			if s.parse(b, eof); len(b.text)+len(b.lines)*sortLineCost >= full && len(b.lines) > 0 {
				runs = append(runs, s.spill(b))
			}
		}
		_ = r.Close()
	}
	s.order(b)
	write(b.lines, b.text, runs)
}

// reserve makes room for n bytes of text.
func (s *sorter) reserve(b *sortBatch, n int) {
	if n > math.MaxUint32 {
		s.fail("read failed: line too long")
	}
	s.p.Hold(n - cap(b.text))
	b.held += n - cap(b.text)
	b.text = append(make([]byte, 0, n), b.text...)
}

// parse makes lines of the text that is complete, or of all of it.
func (s *sorter) parse(b *sortBatch, all bool) {
	before := cap(b.lines)
	for b.parsed < len(b.text) {
		rest := b.text[b.parsed:]
		n := bytes.IndexByte(rest, s.delim)
		next := n + 1
		if n < 0 {
			if !all {
				break
			}
			n, next = len(rest), len(rest)
		}
		line := rest[:n]
		l := sortLine{off: uint32(b.parsed), size: uint32(n)}
		if s.plain {
			l.prefix, l.next = textPrefix(line)
			if s.reverse {
				l.prefix, l.next = ^l.prefix, ^l.next
			}
		} else {
			start, end := s.span(&s.keys[0], line)
			l.start, l.end = uint32(start), uint32(end)
			k := &s.keys[0]
			if k.text() {
				if l.prefix, l.next = textPrefix(line[start:end]); k.reverse {
					l.prefix, l.next = ^l.prefix, ^l.next
				}
			} else {
				l.prefix = s.prefix(k, line[start:end])
			}
		}
		if len(b.lines) == cap(b.lines) {
			more := max(len(b.lines), 16)
			if len(b.lines) >= 1024 { // as many as the text has room for, if they go on as they began
				more = max(min(cap(b.text)/(b.parsed/len(b.lines)+1), s.batchSize()/sortLineCost)-len(b.lines), more/8)
			}
			b.lines = slices.Grow(b.lines, more)
		}
		b.lines = append(b.lines, l)
		b.parsed += next
		s.p.Tick(1)
	}
	if grown := (cap(b.lines) - before) * sortLineCost; grown > 0 {
		s.p.Hold(grown)
		b.held += grown
	}
}

// spill sorts the complete lines of a batch into a run and empties the batch.
func (s *sorter) spill(b *sortBatch) *sortSource {
	s.order(b)
	run := &sortRun{p: s.p}
	z, err := archive.NewWriter(archive.Zstd, run, 1)
	if err == nil {
		w := proc.NewWriter(z, s.p)
		s.write(b.lines, b.text, w)
		w.Flush()
		err = z.Close()
	}
	if err != nil {
		s.fail("write failed: %s", proc.Strerror(err))
	}
	n := copy(b.text, b.text[b.parsed:])
	b.text, b.lines, b.parsed = b.text[:n], b.lines[:0], 0
	r, err := archive.NewRunReader(run, s.p)
	if err != nil {
		s.fail("read failed: %s", proc.Strerror(err))
	}
	return &sortSource{lines: program.NewLineReader(s.p, r, s.delim), name: "-", done: func() { _ = r.Close() }}
}

// sortRun is compressed text in memory; what has been read of it is let go.
type sortRun struct {
	p      *proc.Process
	blocks [][]byte
}

func (r *sortRun) Write(d []byte) (int, error) {
	for rest := d; len(rest) > 0; {
		last := len(r.blocks) - 1
		if last < 0 || len(r.blocks[last]) == cap(r.blocks[last]) {
			r.p.Hold(program.BufferSize)
			r.blocks = append(r.blocks, make([]byte, 0, program.BufferSize))
			last++
		}
		b := r.blocks[last]
		n := min(len(rest), cap(b)-len(b))
		r.blocks[last] = append(b, rest[:n]...)
		rest = rest[n:]
	}
	return len(d), nil
}

func (r *sortRun) Read(d []byte) (int, error) {
	for len(r.blocks) > 0 && len(r.blocks[0]) == 0 {
		r.p.Release(program.BufferSize)
		r.blocks = r.blocks[1:]
	}
	if len(r.blocks) == 0 {
		return 0, io.EOF
	}
	n := copy(d, r.blocks[0])
	r.blocks[0] = r.blocks[0][n:]
	return n, nil
}

// sortChunk is how many lines are sorted at a time between looks at the budget.
const sortChunk = 1 << 15

// order is a merge sort over chunks, on two processors.
func (s *sorter) order(b *sortBatch) {
	lines := b.lines
	compare := s.compareFunc(b.text)
	s.parallel(len(lines), sortChunk, func(lo, hi int) { slices.SortFunc(lines[lo:hi], compare) })
	if len(lines) <= sortChunk {
		return
	}
	if cap(b.other) < len(lines) {
		b.other = make([]sortLine, cap(lines))
	}
	other := b.other[:len(lines)]
	for width := sortChunk; width < len(lines); width *= 2 {
		s.parallel(len(lines), 2*width, func(lo, hi int) {
			mergeLines(other[lo:hi], lines[lo:min(lo+width, hi)], lines[min(lo+width, hi):hi], compare)
		})
		lines, other = other, lines
	}
	b.lines, b.other = lines, other
}

// parallel runs f over parts of [0,n) in two goroutines, which look at the budget between parts only; the
// command dies here when the exec is over.
func (s *sorter) parallel(n, step int, f func(lo, hi int)) {
	var wg sync.WaitGroup
	parts := make(chan int)
	for range 2 {
		wg.Go(func() {
			for lo := range parts {
				f(lo, min(lo+step, n))
			}
		})
	}
	for lo := 0; lo < n; lo += step {
		if s.p.Budget.Err() != nil {
			break
		}
		parts <- lo
	}
	close(parts)
	wg.Wait()
	s.p.Tick(n)
}

func mergeLines(out, a, b []sortLine, compare func(x, y sortLine) int) {
	if len(a) > 0 && len(b) > 0 && compare(a[len(a)-1], b[0]) <= 0 { // in order already
		copy(out[copy(out, a):], b)
		return
	}
	k := 0
	for len(a) > 0 && len(b) > 0 {
		if compare(b[0], a[0]) < 0 {
			out[k], b = b[0], b[1:]
		} else {
			out[k], a = a[0], a[1:]
		}
		k++
	}
	k += copy(out[k:], a)
	copy(out[k:], b)
}
