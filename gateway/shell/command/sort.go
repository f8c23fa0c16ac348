package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/archive"
	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var sortSpec = getopt.New("bcCdfghik:mMno:rRsS:t:T:uVy::z",
	"ignore-leading-blanks=b check::=check compress-program: debug dictionary-order=d ignore-case=f files0-from: "+
		"general-numeric-sort=g ignore-nonprinting=i key:=k merge=m month-sort=M numeric-sort=n human-numeric-sort=h "+
		"version-sort=V random-sort=R random-source: sort: output:=o reverse=r stable=s batch-size: buffer-size:=S "+
		"field-separator:=t temporary-directory:=T unique=u zero-terminated=z parallel:").WithStatus(2).
	WithUsage("[OPTION]... [FILE]...", "Write sorted concatenation of all FILE(s) to standard output.")

// sortKey is one -k, or the global ordering.
type sortKey struct {
	startField, startChar int // from 0
	endField, endChar     int // endField -1: the end of the line
	skipStart, skipEnd    bool
	kind                  byte // 0 text, n g h M V R
	kinds                 string
	reverse, fold         bool
	dict, printing        bool
	whole                 bool // neither start nor end moves
}

func (k *sortKey) isDefault() bool {
	return k.kind == 0 && !k.skipStart && !k.skipEnd && !k.fold && !k.dict && !k.printing
}

// set applies an ordering letter; where says whether b is about the start, the end or both.
func (k *sortKey) set(c byte, start, end bool) bool {
	switch c {
	case 'b':
		k.skipStart = k.skipStart || start
		k.skipEnd = k.skipEnd || end
	case 'd':
		k.dict = true
	case 'f':
		k.fold = true
	case 'i':
		k.printing = true
	case 'g', 'h', 'M', 'n', 'R', 'V':
		k.kind = c
		if strings.IndexByte(k.kinds, c) < 0 {
			k.kinds += string(c)
		}
	case 'r':
		k.reverse = true
	default:
		return false
	}
	return true
}

type sorter struct {
	p          *proc.Process
	keys       []sortKey
	tab        int // -1: blanks
	delim      byte
	unique     bool
	stable     bool
	reverse    bool // of the last resort
	lastResort bool
	plain      bool // whole lines, byte order
	debug      bool
	seed       maphash.Seed
}

func (s *sorter) fail(format string, args ...any) {
	s.p.Errorf(format, args...)
	s.p.Exit(2)
}

// A word that an option does not know ends sort with status 1, unlike other mistakes.
var sortWords = func() *getopt.Spec {
	s := *sortSpec
	return s.WithStatus(1)
}()

// obsoleteKey matches the parts of "+1.2n -3": a key whose fields and characters are counted from 0.
var obsoleteKey = regexp.MustCompile(`^[-+]([0-9]+)(?:\.([0-9]+))?([bdfghiMnRrV]*)$`)

// modernKeys rewrites +POS and -POS as -k.
func modernKeys(args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...)
		}
		m := obsoleteKey.FindStringSubmatch(a)
		if m == nil || a[0] != '+' || i > 0 && slices.Contains([]string{"-k", "-o", "-t", "-S", "-T"}, args[i-1]) {
			out = append(out, a)
			continue
		}
		field, _ := strconv.Atoi(m[1])
		char, _ := strconv.Atoi(m[2])
		key := fmt.Sprintf("-k%d.%d%s", field+1, char+1, m[3])
		if i+1 < len(args) {
			if e := obsoleteKey.FindStringSubmatch(args[i+1]); e != nil && args[i+1][0] == '-' {
				i++
				field, _ = strconv.Atoi(e[1])
				char, _ = strconv.Atoi(e[2])
				if char > 0 {
					field++
				}
				key += fmt.Sprintf(",%d.%d%s", field, char, e[3])
			}
		}
		out = append(out, key)
	}
	return out
}

func sortMain(_ context.Context, p *proc.Process) int {
	p.Out.ErrorStatus = 2
	if slices.ContainsFunc(p.Args[1:], func(a string) bool { return a != "" && a[0] == '+' }) {
		p.Args = append([]string{p.Args[0]}, modernKeys(p.Args[1:])...)
	}
	opts, args := sortSpec.Parse(p)
	s := &sorter{p: p, tab: -1, delim: '\n', seed: maphash.MakeSeed()}
	global := sortKey{endField: -1, whole: true}
	var check byte
	var output, from string
	var hasOutput, hasFrom, merge bool
	setCheck := func(c byte) {
		if check != 0 && check != c {
			s.fail("options '-cC' are incompatible")
		}
		check = c
	}
	for _, o := range opts {
		switch o.Key {
		case "c", "C":
			setCheck(o.Key[0])
		case "check":
			if o.Has && choose(p, sortWords, "check", o.Value, "quiet silent", "diagnose-first") == "quiet" {
				setCheck('C')
			} else {
				setCheck('c')
			}
		case "sort":
			word := choose(p, sortWords, "sort", o.Value, "general-numeric", "human-numeric", "month", "numeric", "random", "version")
			global.set(map[string]byte{"general-numeric": 'g', "human-numeric": 'h', "month": 'M', "numeric": 'n', "random": 'R', "version": 'V'}[word], true, true)
		case "k":
			s.keys = append(s.keys, s.parseKey(o.Value))
		case "m":
			merge = true
		case "o":
			if hasOutput && output != o.Value {
				s.fail("multiple output files specified")
			}
			output, hasOutput = o.Value, true
		case "s":
			s.stable = true
		case "S":
			if _, problem := parseCount(strings.TrimSuffix(o.Value, "%"), "bkKmMGTPEZY"); problem == numberInvalid {
				if o.Value != "" && isDigit(o.Value[0]) {
					s.fail("invalid suffix in -S argument '%s'", o.Value)
				}
				s.fail("invalid -S argument '%s'", o.Value)
			}
		case "t":
			s.setTab(o.Value)
		case "u":
			s.unique = true
		case "z":
			s.delim = 0
		case "files0-from":
			from, hasFrom = o.Value, true
		case "parallel":
			n, problem := parseCount(o.Value, "")
			if problem == numberInvalid {
				s.fail("invalid --parallel argument '%s'", o.Value)
			}
			if n == 0 {
				s.fail("number in parallel must be nonzero")
			}
		case "batch-size":
			if n, problem := parseCount(o.Value, ""); problem == numberInvalid || n < 2 {
				p.Errorf("invalid --batch-size argument %s", quote(o.Value))
				if problem != numberInvalid {
					p.Errorf("minimum --batch-size argument is ‘2’")
				}
				return 2
			}
		case "debug":
			s.debug = true
		case "T", "y", "compress-program", "random-source":
		default:
			global.set(o.Key[0], true, true)
		}
	}
	if hasFrom {
		if len(args) > 0 {
			p.Errorf("extra operand %s", quoteName(args[0]))
			p.Err.WriteString("file operands cannot be combined with --files0-from\n")
			sortSpec.Hint(p)
		}
		list, ok := filesFrom(p, from, quoteColon, "open failed: %s: %s")
		if !ok {
			return 2
		}
		if len(list) == 0 {
			s.fail("no input from %s", quoteName(from))
		}
		for i, name := range list {
			if name == "" {
				s.fail("%s:%d: invalid zero-length file name", quoteColon(from), i+1)
			}
		}
		args = list
	}
	globalOnly := len(s.keys) == 0
	s.finish(global)
	if s.debug {
		if hasOutput && check == 0 {
			check = 'o'
		}
		if check != 0 {
			s.fail("options '-%c --debug' are incompatible", check)
		}
		s.warnKeys(global, globalOnly)
	}
	if check != 0 {
		if len(args) > 1 {
			s.fail("extra operand %s not allowed with -%c", quoteName(args[1]), check)
		}
		if hasOutput {
			s.fail("options '-%co' are incompatible", check)
		}
		if len(args) == 0 {
			args = []string{"-"}
		}
		return s.check(args[0], check == 'C')
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		// All inputs have to be readable before anything is done.
		if name != "-" {
			if _, err := p.Stat(name); err != nil {
				s.fail("cannot read: %s: %s", quoteColon(name), proc.Strerror(err))
			}
		}
	}
	if merge {
		in := s.sources(args, output, hasOutput)
		return s.output(output, hasOutput, func(w io.Writer) { s.merge(in, w) })
	}
	status := 0
	s.sort(args, func(lines []sortLine, text []byte, runs []*sortSource) {
		status = s.output(output, hasOutput, func(w io.Writer) {
			if len(runs) == 0 {
				s.write(lines, text, w)
				return
			}
			rest := newLineReader(s.p, &sortedBatch{lines: lines, text: text, delim: s.delim}, s.delim)
			s.merge(append(runs, &sortSource{lines: rest, name: "-", done: func() {}}), w)
		})
	})
	return status
}

func (s *sorter) setTab(v string) {
	tab := -1
	switch {
	case v == "":
		s.fail("empty tab")
	case v == `\0`:
		tab = 0
	case len(v) > 1:
		s.fail("multi-character tab %s", quote(v))
	default:
		tab = int(v[0])
	}
	if s.tab >= 0 && s.tab != tab {
		s.fail("incompatible tabs")
	}
	s.tab = tab
}

func (s *sorter) parseKey(spec string) sortKey {
	bad := func(why, rest string) { s.fail("%s: invalid field specification %s", why, quote(rest)) }
	rest := spec
	number := func(where string) int {
		n := 0
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		if n == 0 {
			s.fail("%s: invalid count at start of %s", where, quote(rest))
		}
		v, err := strconv.Atoi(rest[:n])
		if err != nil {
			v = math.MaxInt
		}
		rest = rest[n:]
		return v
	}
	letters := func(k *sortKey, start bool) {
		for rest != "" && k.set(rest[0], start, !start) {
			rest = rest[1:]
		}
	}
	k := sortKey{endField: -1}
	if k.startField = number("invalid number at field start"); k.startField == 0 {
		bad("field number is zero", spec)
	}
	k.startField--
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		if k.startChar = number("invalid number after '.'"); k.startChar == 0 {
			bad("character offset is zero", spec)
		}
		k.startChar--
	}
	letters(&k, true)
	if strings.HasPrefix(rest, ",") {
		rest = rest[1:]
		if k.endField = number("invalid number after ','"); k.endField == 0 {
			bad("field number is zero", spec)
		}
		k.endField--
		if strings.HasPrefix(rest, ".") {
			rest = rest[1:]
			k.endChar = number("invalid number after '.'")
		}
		letters(&k, false)
	}
	if rest != "" {
		bad("stray character in field spec", spec)
	}
	return k
}

// finish settles what keys inherit and which fast path applies.
func (s *sorter) finish(global sortKey) {
	for i := range s.keys {
		k := &s.keys[i]
		if k.isDefault() && !k.reverse {
			k.kind, k.kinds, k.fold, k.dict, k.printing, k.reverse = global.kind, global.kinds, global.fold, global.dict, global.printing, global.reverse
			k.skipStart, k.skipEnd = global.skipStart, global.skipEnd
		}
	}
	if len(s.keys) == 0 && !global.isDefault() {
		s.keys = []sortKey{global}
	}
	s.reverse = global.reverse
	s.lastResort = !s.unique && !s.stable
	s.plain = len(s.keys) == 0
	for _, k := range append(slices.Clone(s.keys), global) {
		letters := ""
		if k.dict && !k.printing {
			letters = "d"
		}
		all := k.kinds
		n := 0
		for _, c := range all {
			if c != 'V' && c != 'R' {
				n++
			}
		}
		if strings.ContainsAny(all, "VR") || k.dict || k.printing {
			n++
		}
		if n > 1 {
			letters = ""
			for _, c := range "dfghiMnRV" {
				if c == 'd' && k.dict || c == 'f' && k.fold || c == 'i' && k.printing || strings.ContainsRune(all, c) {
					letters += string(c)
				}
			}
			s.fail("options '-%s' are incompatible", letters)
		}
	}
}

// sortLine is a line of a batch, with the beginning of its first key in a form that compares as a number. Offsets grow in the order of the
// input, so they decide between equal lines.
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

// sort sorts the lines of the inputs. What is more than a batch is sorted batch by batch into compressed runs in memory, which are
// merged at the end.
func (s *sorter) sort(names []string, write func(lines []sortLine, text []byte, runs []*sortSource)) {
	b := &sortBatch{}
	defer func() { s.p.Release(b.held) }()
	var runs []*sortSource
	full := s.batchSize()
	piece := min(1<<20, max(full/32, 4<<10)) // read at a time
	for _, name := range names {
		r, err := s.p.OpenInput(name)
		if err != nil {
			s.fail("cannot read: %s: %s", quoteColon(name), proc.Strerror(err))
		}
		if f, ok := r.(proc.File); ok && len(b.text) == 0 {
			if st, err := f.Stat(); err == nil && st.Kind == proc.Regular {
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
				s.fail("read failed: %s: %s", quoteColon(name), proc.Strerror(err))
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
	r, err := archive.NewReader(archive.Zstd, run)
	if err != nil {
		s.fail("read failed: %s", proc.Strerror(err))
	}
	return &sortSource{lines: newLineReader(s.p, r, s.delim), name: "-", done: func() { _ = r.Close() }}
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
			r.p.Hold(bufferSize)
			r.blocks = append(r.blocks, make([]byte, 0, bufferSize))
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
		r.p.Release(bufferSize)
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

// compareFunc orders lines of text; their places in it make the order total.
func (s *sorter) compareFunc(text []byte) func(x, y sortLine) int {
	if s.plain {
		reverse := s.reverse
		return func(x, y sortLine) int {
			if x.prefix != y.prefix {
				if x.prefix < y.prefix {
					return -1
				}
				return 1
			}
			if x.next != y.next {
				return cmp.Compare(x.next, y.next)
			}
			r := bytes.Compare(text[x.off:x.off+x.size], text[y.off:y.off+y.size])
			if reverse {
				r = -r
			}
			if r == 0 {
				return cmp.Compare(x.off, y.off)
			}
			return r
		}
	}
	first := &s.keys[0]
	isText := first.text()
	return func(x, y sortLine) int {
		if x.prefix != y.prefix {
			if x.prefix < y.prefix {
				return -1
			}
			return 1
		}
		if x.next != y.next {
			return cmp.Compare(x.next, y.next)
		}
		a, b := text[x.off:x.off+x.size], text[y.off:y.off+y.size]
		r := 0
		// Text as short as the prefix is compared already, but for its length: a NUL looks like no character.
		if n := x.end - x.start; !isText || n > 16 || n != y.end-y.start {
			if r = s.compareKey(first, a[x.start:x.end], b[y.start:y.end]); first.reverse {
				r = -r
			}
		}
		if r == 0 && len(s.keys) > 1 {
			r = s.compareKeys(s.keys[1:], a, b)
		}
		if r == 0 && s.lastResort {
			if r = bytes.Compare(a, b); s.reverse {
				r = -r
			}
		}
		if r == 0 {
			return cmp.Compare(x.off, y.off)
		}
		return r
	}
}

// compare is the order that the user asked for, with the last resort.
func (s *sorter) compare(x, y []byte) int {
	if r := s.compareKeys(s.keys, x, y); r != 0 || !s.lastResort {
		return r
	}
	r := bytes.Compare(x, y)
	if s.reverse {
		return -r
	}
	return r
}

func (s *sorter) compareKeys(keys []sortKey, x, y []byte) int {
	if s.plain {
		r := bytes.Compare(x, y)
		if s.reverse {
			return -r
		}
		return r
	}
	for i := range keys {
		k := &keys[i]
		r := s.compareKey(k, s.extract(k, x), s.extract(k, y))
		if r != 0 {
			if k.reverse {
				return -r
			}
			return r
		}
	}
	return 0
}

func isBlank(c byte) bool { return c <= ' ' && (c == ' ' || c == '\t' || c == '\n') }

// extract is the part of the line that key k compares.
func (s *sorter) extract(k *sortKey, line []byte) []byte {
	start, end := s.span(k, line)
	return line[start:end]
}

func (s *sorter) span(k *sortKey, line []byte) (int, int) {
	if k.whole {
		if k.skipStart {
			return skipBlanks(line, 0), len(line)
		}
		return 0, len(line)
	}
	start := s.skipFields(line, k.startField, true)
	if k.skipStart {
		start = skipBlanks(line, start)
	}
	start = addClamped(start, k.startChar, len(line))
	end := len(line)
	if k.endField >= 0 {
		if k.endChar == 0 {
			end = s.skipFields(line, k.endField+1, false)
		} else {
			end = s.skipFields(line, k.endField, true)
			if k.skipEnd {
				end = skipBlanks(line, end)
			}
			end = addClamped(end, k.endChar, len(line))
		}
	}
	return start, max(start, end)
}

func addClamped(a, b, limit int) int {
	if b >= limit-a {
		return limit
	}
	return a + b
}

func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// skipFields returns where field n begins; without after, the separator before it is left out.
func (s *sorter) skipFields(line []byte, n int, after bool) int {
	at := 0
	for ; n > 0 && at < len(line); n-- {
		if s.tab >= 0 {
			i := bytes.IndexByte(line[at:], byte(s.tab))
			if i < 0 {
				return len(line)
			}
			at += i
			if after || n > 1 {
				at++
			}
			continue
		}
		at = skipBlanks(line, at)
		for at < len(line) && !isBlank(line[at]) {
			at++
		}
	}
	return at
}

func (s *sorter) compareKey(k *sortKey, x, y []byte) int {
	switch k.kind {
	case 'n':
		return compareNumeric(x, y)
	case 'g':
		return compareGeneral(x, y)
	case 'h':
		return compareHuman(x, y)
	case 'M':
		return month(x) - month(y)
	}
	if k.dict || k.printing || k.fold {
		if k.kind == 'V' || k.kind == 'R' {
			x, y = k.translate(x), k.translate(y)
		} else {
			return k.compareTranslated(x, y)
		}
	}
	switch k.kind {
	case 'V':
		return versionCompare(x, y)
	case 'R':
		if bytes.Equal(x, y) {
			return 0
		}
		hx, hy := maphash.Bytes(s.seed, x), maphash.Bytes(s.seed, y)
		if hx < hy {
			return -1
		}
		return 1
	}
	return bytes.Compare(x, y)
}

// ignores reports whether the key leaves c out.
func (k *sortKey) ignores(c byte) bool {
	if k.dict && !isAlpha(c) && !isDigit(c) && !isBlank(c) {
		return true
	}
	return k.printing && (c < ' ' || c > '~')
}

func (k *sortKey) mapped(c byte) byte {
	if k.fold && c >= 'a' && c <= 'z' {
		return c - 32
	}
	return c
}

func (k *sortKey) translate(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		if !k.ignores(c) {
			out = append(out, k.mapped(c))
		}
	}
	return out
}

func (k *sortKey) compareTranslated(x, y []byte) int {
	i, j := 0, 0
	for {
		for i < len(x) && k.ignores(x[i]) {
			i++
		}
		for j < len(y) && k.ignores(y[j]) {
			j++
		}
		if i == len(x) || j == len(y) {
			return min(len(x)-i, 1) - min(len(y)-j, 1)
		}
		if a, b := k.mapped(x[i]), k.mapped(y[j]); a != b {
			return int(a) - int(b)
		}
		i++
		j++
	}
}

// decimal splits a number as sort -n sees it: optional blanks and minus, digits, fraction.
func decimal(b []byte) (neg bool, whole, frac, rest []byte) {
	b = b[skipBlanks(b, 0):]
	if len(b) > 0 && b[0] == '-' {
		neg, b = true, b[1:]
	}
	n := 0
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	whole, rest = b[:n], b[n:]
	if len(rest) > 0 && rest[0] == '.' {
		n = 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		frac, rest = rest[1:n], rest[n:]
	}
	for len(whole) > 0 && whole[0] == '0' {
		whole = whole[1:]
	}
	for len(frac) > 0 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if len(whole) == 0 && len(frac) == 0 {
		neg = false
	}
	return neg, whole, frac, rest
}

func compareNumeric(x, y []byte) int {
	xn, xw, xf, _ := decimal(x)
	yn, yw, yf, _ := decimal(y)
	if xn != yn {
		if xn {
			return -1
		}
		return 1
	}
	r := len(xw) - len(yw)
	if r == 0 {
		r = bytes.Compare(xw, yw)
	}
	if r == 0 {
		r = bytes.Compare(xf, yf)
	}
	if xn {
		return -r
	}
	return r
}

// unitOrder ranks the suffix of a human number.
func unitOrder(b []byte) int {
	neg, whole, frac, rest := decimal(b)
	order := 0
	if len(rest) > 0 && (len(whole) > 0 || len(frac) > 0) {
		switch rest[0] {
		case 'K', 'k':
			order = 1
		case 'M', 'G', 'T', 'P', 'E', 'Z', 'Y':
			order = strings.IndexByte("MGTPEZY", rest[0]) + 2
		}
	}
	if neg {
		return -order
	}
	return order
}

func compareHuman(x, y []byte) int {
	// A sign or unit decides before the digits.
	if r := unitOrder(x) - unitOrder(y); r != 0 {
		return r
	}
	return compareNumeric(x, y)
}

func month(b []byte) int {
	b = b[skipBlanks(b, 0):]
	if len(b) < 3 {
		return 0
	}
	const names = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"
	var m [3]byte
	for i := range m {
		m[i] = b[i]
		if isAlpha(m[i]) {
			m[i] &^= 0x20
		}
	}
	for i := 0; i < len(names); i += 3 {
		if names[i:i+3] == string(m[:]) {
			return i/3 + 1
		}
	}
	return 0
}

// general reads what strtold would; ok is false when there is no number.
func general(b []byte) (f float64, ok bool) {
	b = b[skipBlanks(b, 0):]
	n := floatLength(b)
	if n == 0 {
		return 0, false
	}
	text := string(b[:n])
	if n > 2 && text[n-1] != '.' && strings.ContainsAny(text, "xX") {
		text += "p0" // ParseFloat wants an exponent after hexadecimal digits
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// floatLength is the length of the longest prefix that is a number.
func floatLength(b []byte) int {
	i := 0
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		i++
	}
	low := bytes.ToLower(b[i:min(len(b), i+8)])
	switch {
	case bytes.HasPrefix(low, []byte("infinity")):
		return i + 8
	case bytes.HasPrefix(low, []byte("inf")), bytes.HasPrefix(low, []byte("nan")):
		return i + 3
	}
	if len(low) > 2 && low[0] == '0' && low[1] == 'x' && isHex(low[2]) {
		for i += 2; i < len(b) && isHex(b[i]); i++ {
		}
		return i
	}
	digits := 0
	for i < len(b) && isDigit(b[i]) {
		i++
		digits++
	}
	if i < len(b) && b[i] == '.' {
		j := i + 1
		for j < len(b) && isDigit(b[j]) {
			j++
			digits++
		}
		if digits > 0 {
			i = j
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		j := i + 1
		if j < len(b) && (b[j] == '+' || b[j] == '-') {
			j++
		}
		if j < len(b) && isDigit(b[j]) {
			for j < len(b) && isDigit(b[j]) {
				j++
			}
			i = j
		}
	}
	return i
}

func compareGeneral(x, y []byte) int {
	a, aok := general(x)
	b, bok := general(y)
	// No number sorts first, then NaN, then numbers.
	rank := func(f float64, ok bool) int {
		switch {
		case !ok:
			return 0
		case math.IsNaN(f):
			return 1
		}
		return 2
	}
	ra, rb := rank(a, aok), rank(b, bok)
	switch {
	case ra != rb:
		return ra - rb
	case ra < 2 || a == b:
		return 0
	case a < b:
		return -1
	}
	return 1
}

// prefix is a number that orders like the first key does, as far as eight bytes can tell.
func (s *sorter) prefix(k *sortKey, key []byte) uint64 {
	var v uint64
	switch {
	case k.kind == 'n':
		v = orderedFloat(approximate(key))
	case k.kind == 'M':
		v = uint64(month(key))
	case k.kind != 0 || k.dict || k.printing:
		return 0
	case k.fold:
		var b [8]byte
		for i, c := range key {
			if i == len(b) {
				break
			}
			b[i] = k.mapped(c)
		}
		v = binary.BigEndian.Uint64(b[:])
	default:
		v = bigEndian(key)
	}
	if k.reverse {
		return ^v
	}
	return v
}

// text reports whether the key is compared byte by byte.
func (k *sortKey) text() bool { return k.kind == 0 && !k.dict && !k.printing && !k.fold }

// textPrefix is the first 16 bytes of a text in a form that compares as numbers.
func textPrefix(b []byte) (first, next uint64) {
	if len(b) <= 8 {
		return bigEndian(b), 0
	}
	return bigEndian(b), bigEndian(b[8:])
}

func bigEndian(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (56 - 8*i)
	}
	return v
}

// approximate is the nearest float of a number; rounding keeps the order.
func approximate(b []byte) float64 {
	neg, whole, frac, _ := decimal(b)
	var f float64
	if len(whole)+len(frac) <= 15 {
		var m uint64
		for _, c := range whole {
			m = m*10 + uint64(c-'0')
		}
		for _, c := range frac {
			m = m*10 + uint64(c-'0')
		}
		f = float64(m)
		if len(frac) > 0 {
			f /= powersOfTen[len(frac)]
		}
	} else {
		// Out of range is infinite, which orders well enough.
		f, _ = strconv.ParseFloat("0"+string(whole)+"."+string(frac), 64)
	}
	if neg {
		return -f
	}
	return f
}

var powersOfTen = func() (t [16]float64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

func orderedFloat(f float64) uint64 {
	if f == 0 {
		f = 0 // no negative zero
	}
	v := math.Float64bits(f)
	if v>>63 != 0 {
		return ^v
	}
	return v | 1<<63
}

func (s *sorter) output(name string, has bool, write func(io.Writer)) int {
	if !has {
		if s.debug {
			write(&sortDebugger{s: s, w: s.p.Out})
		} else {
			write(s.p.Out)
		}
		return 0
	}
	f, err := s.p.Open(name, proc.WriteOnly|proc.Create|proc.Trunc, 0o666)
	if err != nil {
		s.fail("open failed: %s: %s", quoteColon(name), proc.Strerror(err))
	}
	w := proc.NewWriter(f, s.p)
	write(w)
	w.Flush()
	if err := f.Close(); err != nil {
		s.fail("close failed: %s: %s", quoteColon(name), proc.Strerror(err))
	}
	return 0
}

func (s *sorter) write(lines []sortLine, text []byte, w io.Writer) {
	end := []byte{s.delim}
	var last sortLine
	for i, l := range lines {
		s.p.Tick(1)
		line := text[l.off : l.off+l.size]
		if s.unique {
			if i > 0 && l.prefix == last.prefix && s.compareKeys(s.keys, text[last.off:last.off+last.size], line) == 0 {
				continue // the first of equal lines stays to compare with
			}
			last = l
		}
		_, _ = w.Write(line)
		_, _ = w.Write(end)
	}
}

// check is -c and -C.
func (s *sorter) check(name string, silent bool) int {
	r, err := s.p.OpenInput(name)
	if err != nil {
		verb := "open failed"
		s.fail("%s: %s: %s", verb, quoteColon(name), proc.Strerror(err))
	}
	defer r.Close()
	l := newLineReader(s.p, r, s.delim)
	defer l.close()
	var prev []byte
	n := 0
	for raw, ok := l.next(); ok; raw, ok = l.next() {
		n++
		line := chomp(raw, s.delim)
		if n > 1 {
			c := s.compare(prev, line)
			if c > 0 || c == 0 && s.unique {
				if !silent {
					s.p.Errorf("%s:%d: disorder: %s", name, n, line)
				}
				return 1
			}
		}
		prev = append(prev[:0], line...)
	}
	if l.err != nil {
		s.fail("read failed: %s: %s", quoteColon(name), proc.Strerror(l.err))
	}
	return 0
}

// sortSource is a sorted input of a merge.
type sortSource struct {
	lines  *lineReader
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
			s.fail("cannot read: %s: %s", quoteColon(name), proc.Strerror(err))
		}
		done := func() { _ = r.Close() }
		var from io.Reader = r
		if has && name == output {
			data, err := s.p.ReadAll(r)
			if err != nil {
				s.fail("read failed: %s: %s", quoteColon(name), proc.Strerror(err))
			}
			from = bytes.NewReader(data)
		}
		in = append(in, &sortSource{lines: newLineReader(s.p, from, s.delim), name: name, done: done})
	}
	return in
}

// advance reads the next line of a source.
func (s *sorter) advance(src *sortSource) bool {
	raw, ok := src.lines.next()
	if src.lines.err != nil {
		s.fail("read failed: %s: %s", quoteColon(src.name), proc.Strerror(src.lines.err))
	}
	src.line = chomp(raw, s.delim)
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
		defer src.lines.close()
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
