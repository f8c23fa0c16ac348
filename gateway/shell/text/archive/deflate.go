package archive

import "encoding/binary"

// Deflate compresses as gzip(1) and zip(1) do, to the byte: scripts see the sizes and the percentages that come of it.
// It follows the method that RFC 1951 and the comments on it describe (hash chains of three bytes, lazy matches, blocks
// that are stored, of fixed or of dynamic codes, whichever is shortest), with these programs' limits. tick is called
// with the work done.
//
// The whole of the data is in memory; larger inputs are for a streaming compressor.
func Deflate(data []byte, level int, tick func(int)) []byte {
	d := &deflater{level: level, size: len(data), tick: tick, window: make([]byte, len(data)+maxMatch+minMatch)}
	copy(d.window, data)
	d.conf = deflateLevels[min(max(level, 1), 9)]
	d.head = make([]int32, hashSize)
	d.prev = make([]int32, min(windowSize, len(data)+1))
	d.startBlock()
	if level <= 3 {
		d.fast()
	} else {
		d.slow()
	}
	d.flush(d.size, true)
	d.align()
	return d.out
}

const (
	minMatch    = 3
	maxMatch    = 258
	windowSize  = 32 << 10
	maxDistance = windowSize - (maxMatch + minMatch + 1)
	tooFar      = 4096 // a match of three bytes farther off than this costs more than it saves
	hashBits    = 15
	hashSize    = 1 << hashBits
	maxSymbols  = 0x8000 // of a block
)

// deflateLevel is how hard a level searches.
type deflateLevel struct {
	good  int // a match this long shortens the search for a better one
	lazy  int // no search after a match this long; of the fast levels, the longest match whose strings are remembered
	nice  int // a match this long ends the search
	chain int // candidates looked at
}

var deflateLevels = [10]deflateLevel{
	1: {4, 4, 8, 4}, 2: {4, 5, 16, 8}, 3: {4, 6, 32, 32},
	4: {4, 4, 16, 16}, 5: {8, 16, 32, 32}, 6: {8, 16, 128, 128}, 7: {8, 32, 128, 256}, 8: {32, 128, 258, 1024},
	9: {32, 258, 258, 4096},
}

// deflateSymbol is a literal (distance 0) or a match.
type deflateSymbol struct {
	distance uint16
	value    uint16 // the byte, or the length
}

type deflater struct {
	level  int
	conf   deflateLevel
	size   int
	tick   func(int)
	window []byte // the data, and zeros after it, which the search may run into
	head   []int32
	prev   []int32
	out    []byte
	bits   uint64
	nbits  uint

	begin     int // of the block
	symbols   []deflateSymbol
	matches   int
	lit, dist codeTree
}

// insert remembers the string at pos and returns where one of the same hash was last, 0 when nowhere.
func (d *deflater) insert(pos int) int {
	h := (uint(d.window[pos])<<10 ^ uint(d.window[pos+1])<<5 ^ uint(d.window[pos+2])) & (hashSize - 1)
	last := d.head[h]
	d.prev[pos%len(d.prev)] = last
	d.head[h] = int32(pos) //nolint:gosec // inputs are small
	return int(last)
}

// longest finds the longest match at pos that is longer than known, going back from candidate.
func (d *deflater) longest(pos, candidate, known int) (length, at int) {
	w := d.window
	chain, best := d.conf.chain, known
	if known >= d.conf.good {
		chain >>= 2
	}
	limit := max(pos-maxDistance, 0)
	steps := 0
	for {
		steps++
		if w[candidate+best] == w[pos+best] && w[candidate+best-1] == w[pos+best-1] && w[candidate] == w[pos] &&
			w[candidate+1] == w[pos+1] {
			n := 2
			for n < maxMatch && w[candidate+n] == w[pos+n] {
				n++
			}
			if n > best {
				best, at = n, candidate
				if n >= d.conf.nice {
					break
				}
			}
		}
		candidate = int(d.prev[candidate%len(d.prev)])
		if candidate <= limit {
			break
		}
		if chain--; chain == 0 {
			break
		}
	}
	d.tick(1 + steps>>4)
	return best, at
}

func (d *deflater) fast() {
	for pos := 0; pos < d.size; {
		length, at := 0, 0
		if c := d.insert(pos); c != 0 && pos-c <= maxDistance {
			length, at = d.longest(pos, c, minMatch-1)
			length = min(length, d.size-pos)
		}
		var full bool
		if length >= minMatch {
			full = d.match(pos-at, length, pos)
			if length <= d.conf.lazy {
				for i := 1; i < length; i++ {
					d.insert(pos + i)
				}
			}
			pos += length
		} else {
			full = d.literal(d.window[pos], pos)
			pos++
		}
		if full {
			d.flush(pos, false)
		}
	}
}

func (d *deflater) slow() {
	length, at, waiting := minMatch-1, 0, false
	for pos := 0; pos < d.size; {
		c := d.insert(pos)
		before, beforeAt := length, at
		length = minMatch - 1
		if c != 0 && before < d.conf.lazy && pos-c <= maxDistance {
			var found int
			if length, found = d.longest(pos, c, before); length > before {
				at = found
			}
			length = min(length, d.size-pos)
			if length == minMatch && pos-at > tooFar {
				length--
			}
		}
		switch {
		case before >= minMatch && length <= before:
			full := d.match(pos-1-beforeAt, before, pos)
			for i := 1; i < before-1; i++ {
				d.insert(pos + i)
			}
			pos += before - 1
			waiting, length = false, minMatch-1
			if full {
				d.flush(pos, false)
			}
		case waiting:
			if d.literal(d.window[pos-1], pos) {
				d.flush(pos, false)
			}
			pos++
		default:
			waiting = true
			pos++
		}
	}
	if waiting {
		d.literal(d.window[d.size-1], d.size)
	}
}

func (d *deflater) literal(b byte, pos int) bool {
	d.lit.freq[b]++
	d.symbols = append(d.symbols, deflateSymbol{0, uint16(b)})
	return d.full(pos)
}

func (d *deflater) match(distance, length, pos int) bool {
	d.lit.freq[endOfBlock+1+int(lengthCode[length-minMatch])]++
	d.dist.freq[distanceCode(distance)]++
	d.symbols = append(d.symbols, deflateSymbol{uint16(distance), uint16(length)}) //nolint:gosec // at most 32768 and 258
	d.matches++
	return d.full(pos)
}

// full reports whether the block ends here: its buffers are full, or it is worth while.
func (d *deflater) full(pos int) bool {
	n := len(d.symbols)
	if d.level > 2 && n&0xfff == 0 {
		out := n * 8
		for c, f := range d.dist.freq[:distanceCodes] {
			out += int(f) * (5 + int(distanceExtra[c]))
		}
		if d.matches < n/2 && out>>3 < (pos-d.begin)/2 {
			return true
		}
	}
	return n == maxSymbols-1
}

func (d *deflater) startBlock() {
	d.lit.reset(literalCodes)
	d.dist.reset(distanceCodes)
	d.lit.freq[endOfBlock] = 1
	d.symbols, d.matches = d.symbols[:0], 0
}

const (
	literalCodes  = 286
	distanceCodes = 30
	lengthCodes   = 19
	endOfBlock    = 256
)

var (
	lengthBase    [29]uint16
	lengthExtra   = [29]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	lengthCode    [256]uint8 // by length - 3
	distanceBase  [distanceCodes]uint16
	distanceExtra = [distanceCodes]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11,
		12, 12, 13, 13}
	repeatExtra = [lengthCodes]uint8{16: 2, 17: 3, 18: 7}
	repeatOrder = [lengthCodes]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	fixedLit    codeTree
	fixedDist   codeTree
)

func init() {
	n := 0
	for c := range lengthExtra[:28] {
		lengthBase[c] = uint16(n) //nolint:gosec // below 256
		for range 1 << lengthExtra[c] {
			if n < 256 {
				lengthCode[n] = uint8(c) //nolint:gosec // below 29
			}
			n++
		}
	}
	lengthCode[255], lengthBase[28] = 28, 255
	n = 1
	for c, x := range distanceExtra {
		distanceBase[c] = uint16(n) //nolint:gosec // at most 24577
		n += 1 << x
	}
	fixedLit.reset(288)
	for i := range 288 {
		fixedLit.length[i] = []uint8{8, 9, 7, 8}[(btoi(i > 143) + btoi(i > 255) + btoi(i > 279))]
	}
	fixedLit.assign(287)
	fixedDist.reset(distanceCodes)
	for i := range distanceCodes {
		fixedDist.length[i] = 5
	}
	fixedDist.assign(distanceCodes - 1)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func distanceCode(distance int) int {
	lo, hi := 0, distanceCodes
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; int(distanceBase[mid]) <= distance {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// codeTree is a Huffman code: frequencies, then lengths, then codes.
type codeTree struct {
	freq   []uint32
	length []uint8
	code   []uint16 // with its bits in the order they are written
	last   int      // the highest symbol in use
}

func (t *codeTree) reset(n int) {
	if t.freq == nil {
		t.freq, t.length, t.code = make([]uint32, n), make([]uint8, n), make([]uint16, n)
	}
	clear(t.freq)
}

// assign gives the symbols their codes: shorter first, then in order.
func (t *codeTree) assign(last int) {
	var count, next [17]uint16
	for _, l := range t.length[:last+1] {
		count[l]++
	}
	count[0] = 0
	code := uint16(0)
	for b := 1; b <= 15; b++ {
		code = (code + count[b-1]) << 1
		next[b] = code
	}
	for n, l := range t.length[:last+1] {
		if l == 0 {
			continue
		}
		c := next[l]
		next[l]++
		r := uint16(0)
		for range l {
			r, c = r<<1|c&1, c>>1
		}
		t.code[n] = r
	}
}

// treeHeap orders symbols by frequency, then by the depth of what is below them.
type treeHeap struct {
	heap  []int
	freq  []uint32
	depth []uint8
}

func (h *treeHeap) less(a, b int) bool {
	return h.freq[a] < h.freq[b] || h.freq[a] == h.freq[b] && h.depth[a] <= h.depth[b]
}

// down restores the order from k on; the heap begins at 1.
func (h *treeHeap) down(k int) {
	v := h.heap[k]
	n := len(h.heap) - 1
	for j := k << 1; j <= n; j <<= 1 {
		if j < n && h.less(h.heap[j+1], h.heap[j]) {
			j++
		}
		if h.less(v, h.heap[j]) {
			break
		}
		h.heap[k] = h.heap[j]
		k = j
	}
	h.heap[k] = v
}

// build makes the code from the frequencies, no code longer than limit. It returns the bits that the symbols take with
// it, extra bits included.
func (t *codeTree) build(limit int, extra []uint8, base int) int {
	n := len(t.freq)
	h := &treeHeap{heap: make([]int, 1, n+1), freq: make([]uint32, 2*n+1), depth: make([]uint8, 2*n+1)}
	copy(h.freq, t.freq)
	t.last = -1
	for i, f := range t.freq {
		t.length[i] = 0
		if f > 0 {
			h.heap = append(h.heap, i)
			t.last = i
		}
	}
	total := 0
	for len(h.heap) < 3 { // a code has two symbols at least
		i := 0
		if t.last < 2 {
			t.last++
			i = t.last
		}
		h.freq[i] = 1
		h.heap = append(h.heap, i)
		total--
	}
	for k := (len(h.heap) - 1) / 2; k >= 1; k-- {
		h.down(k)
	}
	parent, length := make([]int, 2*n+1), make([]int, 2*n+1)
	var order []int // from the leaves to the root
	pop := func() int {
		top := h.heap[1]
		h.heap[1] = h.heap[len(h.heap)-1]
		h.heap = h.heap[:len(h.heap)-1]
		h.down(1)
		return top
	}
	node := n
	for len(h.heap) > 2 {
		a := pop()
		b := h.heap[1]
		order = append(order, a, b)
		h.freq[node] = h.freq[a] + h.freq[b]
		h.depth[node] = max(h.depth[a], h.depth[b]) + 1
		parent[a], parent[b] = node, node
		h.heap[1] = node
		node++
		h.down(1)
	}
	root := h.heap[1]
	length[root] = 0
	var count [16]int
	over := 0
	for i := len(order) - 1; i >= 0; i-- {
		s := order[i]
		bits := length[parent[s]] + 1
		if bits > limit {
			bits = limit
			over++
		}
		length[s] = bits
		if s < n {
			count[bits]++
		}
	}
	if over > 0 {
		for ; over > 0; over -= 2 {
			bits := limit - 1
			for count[bits] == 0 {
				bits--
			}
			count[bits]--
			count[bits+1] += 2
			count[limit]--
		}
		i := 0
		for bits := limit; bits > 0; bits-- {
			for k := count[bits]; k > 0; i++ {
				if s := order[i]; s < n {
					length[s] = bits
					k--
				}
			}
		}
	}
	for _, s := range order {
		if s >= n {
			continue
		}
		t.length[s] = uint8(length[s]) //nolint:gosec // at most 15
		total += int(h.freq[s]) * length[s]
		if s >= base {
			total += int(h.freq[s]) * int(extra[s-base])
		}
	}
	t.assign(t.last)
	return total
}

// runs calls f for the lengths of a code as they are written: a length, or 16, 17, 18 for repetitions, and how often.
func (t *codeTree) runs(f func(symbol, count int)) {
	for i := 0; i <= t.last; {
		v, n := t.length[i], 1
		// A run of a length ends after one and six repetitions, one of zeros after 138.
		for i+n <= t.last && t.length[i+n] == v {
			n++
		}
		i += n
		if v != 0 {
			f(int(v), 1)
			n--
			for ; n >= 3; n -= min(n, 6) {
				f(16, min(n, 6))
			}
		} else {
			for ; n >= 3; n -= min(n, 138) {
				if m := min(n, 138); m > 10 {
					f(18, m)
				} else {
					f(17, m)
				}
			}
		}
		for ; n > 0; n-- {
			f(int(v), 1)
		}
	}
}

func (d *deflater) put(v uint64, n uint8) {
	d.bits |= v << d.nbits
	d.nbits += uint(n)
	for d.nbits >= 8 {
		d.out = append(d.out, byte(d.bits))
		d.bits >>= 8
		d.nbits -= 8
	}
}

func (d *deflater) align() {
	if d.nbits > 0 {
		d.out = append(d.out, byte(d.bits))
		d.bits, d.nbits = 0, 0
	}
}

// flush writes the block that ends at pos in the way that takes least.
func (d *deflater) flush(pos int, last bool) {
	fixed := 0
	for s, f := range d.lit.freq {
		if f > 0 {
			n := int(fixedLit.length[s])
			if s > endOfBlock {
				n += int(lengthExtra[s-endOfBlock-1])
			}
			fixed += int(f) * n
		}
	}
	for s, f := range d.dist.freq {
		fixed += int(f) * (5 + int(distanceExtra[s]))
	}
	dynamic := d.lit.build(15, lengthExtra[:], endOfBlock+1)
	dynamic += d.dist.build(15, distanceExtra[:], 0)
	var lengths codeTree
	lengths.reset(lengthCodes)
	for _, t := range []*codeTree{&d.lit, &d.dist} {
		t.runs(func(s, _ int) { lengths.freq[s]++ })
	}
	dynamic += lengths.build(7, repeatExtra[:], 0)
	most := lengthCodes - 1
	for most >= 3 && lengths.length[repeatOrder[most]] == 0 {
		most--
	}
	dynamic += 3*(most+1) + 5 + 5 + 4
	fixedBytes, best := (fixed+3+7)>>3, (dynamic+3+7)>>3
	best = min(best, fixedBytes)
	final := uint64(btoi(last))
	switch stored := pos - d.begin; {
	case stored+4 <= best && stored < 1<<16:
		d.put(final, 3)
		d.align()
		d.out = binary.LittleEndian.AppendUint16(d.out, uint16(stored))
		d.out = binary.LittleEndian.AppendUint16(d.out, ^uint16(stored)) //nolint:gosec // checked above
		d.out = append(d.out, d.window[d.begin:pos]...)
	case fixedBytes == best:
		d.put(1<<1|final, 3)
		d.write(&fixedLit, &fixedDist)
	default:
		d.put(2<<1|final, 3)
		d.put(uint64(d.lit.last+1-257), 5) //nolint:gosec // at most 29
		d.put(uint64(d.dist.last), 5)      //nolint:gosec // at most 29
		d.put(uint64(most+1-4), 4)         //nolint:gosec // at most 15
		for _, s := range repeatOrder[:most+1] {
			d.put(uint64(lengths.length[s]), 3)
		}
		for _, t := range []*codeTree{&d.lit, &d.dist} {
			t.runs(func(s, n int) {
				d.put(uint64(lengths.code[s]), lengths.length[s])
				switch s {
				case 16, 17:
					d.put(uint64(n-3), repeatExtra[s]) //nolint:gosec // at least 3
				case 18:
					d.put(uint64(n-11), repeatExtra[s]) //nolint:gosec // at least 11
				}
			})
		}
		d.write(&d.lit, &d.dist)
	}
	d.begin = pos
	d.startBlock()
}

func (d *deflater) write(lit, dist *codeTree) {
	for _, s := range d.symbols {
		if s.distance == 0 {
			d.put(uint64(lit.code[s.value]), lit.length[s.value])
			continue
		}
		c := lengthCode[s.value-minMatch]
		d.put(uint64(lit.code[endOfBlock+1+int(c)]), lit.length[endOfBlock+1+int(c)])
		d.put(uint64(s.value-minMatch-lengthBase[c]), lengthExtra[c])
		k := distanceCode(int(s.distance))
		d.put(uint64(dist.code[k]), dist.length[k])
		d.put(uint64(s.distance-distanceBase[k]), distanceExtra[k])
	}
	d.put(uint64(lit.code[endOfBlock]), lit.length[endOfBlock])
}
