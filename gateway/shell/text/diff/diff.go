package diff

import "math"

// Change is a run of lines of a replaced by a run of lines of b: a[A:A+DelA] by b[B:B+InsB].
type Change struct {
	A, Del int
	B, Ins int
}

// Options tune the search.
type Options struct {
	Minimal bool
	Horizon int       // common lines at both ends that take part in the search
	Tick    func(int) // called with units of work; may panic
}

// Lines compares two sequences of line classes (equal numbers are equal lines).
func Lines(a, b []int, opt Options) []Change {
	prefix := 0
	for prefix < len(a) && prefix < len(b) && a[prefix] == b[prefix] {
		prefix++
	}
	if prefix == len(a) && prefix == len(b) {
		return nil
	}
	suffix := 0
	for suffix < len(a)-prefix && suffix < len(b)-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	lo := max(0, prefix-opt.Horizon)
	tail := max(0, suffix-opt.Horizon)
	ma, mb := a[lo:len(a)-tail], b[lo:len(b)-tail]
	fa, fb := newFile(ma), newFile(mb)
	if opt.Minimal {
		fa.keepAll()
		fb.keepAll()
	} else {
		ca, cb := counts(ma), counts(mb)
		fa.discard(cb)
		fb.discard(ca)
	}
	s := &search{a: fa, b: fb, x: fa.kept, y: fb.kept, minimal: opt.Minimal, tick: opt.Tick}
	diags := len(s.x) + len(s.y) + 3
	s.forward = make([]int, diags)
	s.backward = make([]int, diags)
	s.base = len(s.y) + 1
	s.limit = 1
	for n := diags; n > 0; n >>= 2 {
		s.limit <<= 1 // about the square root
	}
	s.limit = max(4096, s.limit)
	s.compare(0, len(s.x), 0, len(s.y))
	slide(fa, fb)
	slide(fb, fa)
	return script(fa, fb, lo)
}

func counts(lines []int) map[int]int {
	m := make(map[int]int, len(lines))
	for _, l := range lines {
		m[l]++
	}
	return m
}

// file is one side of the comparison.
type file struct {
	lines   []int
	changed []bool // one longer than lines at both ends, all false there: use flag
	kept    []int  // classes of the lines that take part
	index   []int  // and where they are
}

func newFile(lines []int) *file {
	return &file{lines: lines, changed: make([]bool, len(lines)+2)}
}

// flag is the changed flag of line i, -1 <= i <= len(lines).
func (f *file) flag(i int) bool { return f.changed[i+1] }

func (f *file) set(i int, v bool) { f.changed[i+1] = v }

func (f *file) keepAll() {
	f.kept = f.lines
	f.index = make([]int, len(f.lines))
	for i := range f.index {
		f.index[i] = i
	}
}

const (
	keep        = 0
	drop        = 1 // no counterpart in the other file
	provisional = 2 // so many counterparts that matching it would only confuse
)

// discard sets aside lines that cannot match, and runs of lines that match too much in between them.
func (f *file) discard(other map[int]int) {
	n := len(f.lines)
	mark := make([]uint8, n)
	many := 5
	for t := n / 64 >> 2; t > 0; t >>= 2 {
		many *= 2
	}
	for i, l := range f.lines {
		switch c := other[l]; {
		case c == 0:
			mark[i] = drop
		case c > many:
			mark[i] = provisional
		}
	}
	for i := 0; i < n; i++ {
		switch mark[i] {
		case provisional: // not inside a run that begins with a sure one
			mark[i] = keep
		case drop:
			i = settle(mark, i)
		}
	}
	for i, m := range mark {
		if m == keep {
			f.kept = append(f.kept, f.lines[i])
			f.index = append(f.index, i)
		} else {
			f.set(i, true)
		}
	}
}

// settle decides about the provisional marks in the run that begins at i, and returns its last index.
func settle(mark []uint8, i int) int {
	j, prov := i, 0
	for ; j < len(mark) && mark[j] != keep; j++ {
		if mark[j] == provisional {
			prov++
		}
	}
	for j > i && mark[j-1] == provisional {
		j--
		mark[j] = keep
		prov--
	}
	run := mark[i:j]
	if prov*4 > len(run) {
		for k := range run {
			if run[k] == provisional {
				run[k] = keep
			}
		}
		return j - 1
	}
	least := 1
	for t := len(run) >> 2 >> 2; t > 0; t >>= 2 {
		least <<= 1
	}
	least++
	for k := 0; k < len(run); { // long subruns of provisional marks are no noise
		e := k
		for e < len(run) && run[e] == provisional {
			e++
		}
		if e-k >= least {
			for m := k; m < e; m++ {
				run[m] = keep
			}
		}
		k = e + 1
	}
	edge := func(at func(int) *uint8) {
		consec := 0
		for k := range run {
			m := at(k)
			if k >= 8 && *m == drop {
				return
			}
			switch *m {
			case provisional:
				*m = keep
				consec = 0
			case keep:
				consec = 0
			default:
				consec++
			}
			if consec == 3 {
				return
			}
		}
	}
	edge(func(k int) *uint8 { return &run[k] })
	edge(func(k int) *uint8 { return &run[len(run)-1-k] })
	return j - 1
}

// search is Myers' divide and conquer over the lines kept.
type search struct {
	a, b              *file
	x, y              []int
	forward, backward []int // furthest x by diagonal x-y, offset by base
	base              int
	limit             int // edit cost past which a good split is good enough
	minimal           bool
	tick              func(int)
}

// compare marks the changes between x[x0:x1] and y[y0:y1].
func (s *search) compare(x0, x1, y0, y1 int) {
	minimal := s.minimal
	for {
		for x0 < x1 && y0 < y1 && s.x[x0] == s.y[y0] {
			x0++
			y0++
		}
		for x0 < x1 && y0 < y1 && s.x[x1-1] == s.y[y1-1] {
			x1--
			y1--
		}
		if x0 == x1 {
			for ; y0 < y1; y0++ {
				s.b.set(s.b.index[y0], true)
			}
			return
		}
		if y0 == y1 {
			for ; x0 < x1; x0++ {
				s.a.set(s.a.index[x0], true)
			}
			return
		}
		xm, ym := s.split(x0, x1, y0, y1, minimal)
		s.compare(x0, xm, y0, ym)
		x0, y0 = xm, ym
	}
}

// split finds a point on a shortest edit path, from both ends at once.
func (s *search) split(x0, x1, y0, y1 int, minimal bool) (xm, ym int) {
	const far = math.MaxInt
	f, b, base := s.forward, s.backward, s.base
	dmin, dmax := x0-y1, x1-y0
	fmid, bmid := x0-y0, x1-y1
	fmin, fmax, bmin, bmax := fmid, fmid, bmid, bmid
	odd := (fmid-bmid)&1 != 0
	f[base+fmid], b[base+bmid] = x0, x1
	for cost := 1; ; cost++ {
		if s.tick != nil {
			s.tick(1 + (fmax-fmin)>>3)
		}
		if fmin > dmin {
			fmin--
			f[base+fmin-1] = -1
		} else {
			fmin++
		}
		if fmax < dmax {
			fmax++
			f[base+fmax+1] = -1
		} else {
			fmax--
		}
		for d := fmax; d >= fmin; d -= 2 {
			lo, hi := f[base+d-1], f[base+d+1]
			x := lo + 1
			if lo < hi {
				x = hi
			}
			y := x - d
			for x < x1 && y < y1 && s.x[x] == s.y[y] {
				x++
				y++
			}
			f[base+d] = x
			if odd && bmin <= d && d <= bmax && b[base+d] <= x {
				return x, y
			}
		}
		if bmin > dmin {
			bmin--
			b[base+bmin-1] = far
		} else {
			bmin++
		}
		if bmax < dmax {
			bmax++
			b[base+bmax+1] = far
		} else {
			bmax--
		}
		for d := bmax; d >= bmin; d -= 2 {
			lo, hi := b[base+d-1], b[base+d+1]
			x := hi - 1
			if lo < hi {
				x = lo
			}
			y := x - d
			for x0 < x && y0 < y && s.x[x-1] == s.y[y-1] {
				x--
				y--
			}
			b[base+d] = x
			if !odd && fmin <= d && d <= fmax && x <= f[base+d] {
				return x, y
			}
		}
		if cost >= s.limit && !minimal {
			return s.giveUp(x0, x1, y0, y1, fmin, fmax, bmin, bmax)
		}
	}
}

// giveUp takes the point furthest from its end.
func (s *search) giveUp(x0, x1, y0, y1, fmin, fmax, bmin, bmax int) (xm, ym int) {
	bestF, fx := -1, x0
	for d := fmax; d >= fmin; d -= 2 {
		x := min(s.forward[s.base+d], x1)
		y := x - d
		if y > y1 {
			x, y = y1+d, y1
		}
		if x+y > bestF {
			bestF, fx = x+y, x
		}
	}
	bestB, bx := math.MaxInt, x1
	for d := bmax; d >= bmin; d -= 2 {
		x := max(x0, s.backward[s.base+d])
		y := x - d
		if y < y0 {
			x, y = y0+d, y0
		}
		if x+y < bestB {
			bestB, bx = x+y, x
		}
	}
	if x1+y1-bestB < bestF-(x0+y0) {
		return fx, bestF - fx
	}
	return bx, bestB - bx
}

// slide moves runs of changes in f up and down over equal lines, so that neighbouring runs merge and
// runs line up with changes of the other file.
func slide(f, other *file) {
	n := len(f.lines)
	i, j := 0, 0
	for {
		for i < n && !f.flag(i) {
			for other.flag(j) {
				j++
			}
			j++
			i++
		}
		if i == n {
			return
		}
		start := i
		for i++; f.flag(i); i++ {
		}
		for other.flag(j) {
			j++
		}
		var matching int // end of the run where it last met a change of the other file; n: never
		for {
			length := i - start
			for start > 0 && f.lines[start-1] == f.lines[i-1] {
				start--
				f.set(start, true)
				i--
				f.set(i, false)
				for f.flag(start - 1) {
					start--
				}
				for j--; other.flag(j); j-- {
				}
			}
			matching = n
			if other.flag(j - 1) {
				matching = i
			}
			for i != n && f.lines[start] == f.lines[i] {
				f.set(start, false)
				start++
				f.set(i, true)
				i++
				for f.flag(i) {
					i++
				}
				for j++; other.flag(j); j++ {
					matching = i
				}
			}
			if length == i-start {
				break
			}
		}
		for matching < i {
			start--
			f.set(start, true)
			i--
			f.set(i, false)
			for j--; other.flag(j); j-- {
			}
		}
	}
}

// script turns the flags into changes; lo is where the files begin in the whole.
func script(a, b *file, lo int) []Change {
	var out []Change
	i, j := 0, 0
	for i < len(a.lines) || j < len(b.lines) {
		if !a.flag(i) && !b.flag(j) {
			i++
			j++
			continue
		}
		c := Change{A: lo + i, B: lo + j}
		for i < len(a.lines) && a.flag(i) {
			i++
			c.Del++
		}
		for j < len(b.lines) && b.flag(j) {
			j++
			c.Ins++
		}
		out = append(out, c)
	}
	return out
}
