package shell

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

type attr uint16

const (
	aExport attr = 1 << iota
	aReadonly
	aInteger
	aLower
	aUpper
	aNameref
	aArray
	aAssoc
	aSet // has a value
	aCapital
	aTrace
	aNoAssign // assignments are ignored
)

// variable is one variable. A variable that is shared with another shell environment (shared set) is
// copied before it is changed.
type variable struct {
	attrs     attr
	shared    bool
	str       string
	room      []byte // what str is the whole of, with room for more, when it has been appended to
	arr       *indexed
	assoc     *assocArray
	owner     *Shell // whose budget counts it
	local     bool
	dyn       func(*Shell) *variable           // computes special variables (RANDOM, PIPESTATUS …)
	assign    func(*Shell, string)             // is told of assignments to them
	assignKey func(sh *Shell, key, val string) // is told of assignments to elements
}

// extend returns old with val after it. When old is the value, val goes into the room behind it, so that a loop that
// appends copies each byte a few times and not once a turn. Who else has old sees nothing of that.
func (v *variable) extend(old, val string) string {
	n := len(old) + len(val)
	if n < 256 {
		return old + val
	}
	if len(v.room) != len(old) || unsafe.SliceData(v.room) != unsafe.StringData(old) {
		v.room = proc.AppendString(make([]byte, 0, n+n/4), old)
	}
	v.room = proc.AppendString(v.room, val)
	return unsafe.String(unsafe.SliceData(v.room), n)
}

// setStr replaces the scalar value.
func (v *variable) setStr(s string) {
	v.str = s
	if v.room != nil && unsafe.SliceData(v.room) != unsafe.StringData(s) {
		v.room = nil
	}
}

func (v *variable) isArray() bool { return v.attrs&(aArray|aAssoc) != 0 }

func (v *variable) clone() *variable {
	c := *v
	c.shared, c.room = false, nil
	if v.arr != nil {
		c.arr = v.arr.clone()
	}
	if v.assoc != nil {
		c.assoc = v.assoc.clone()
	}
	return &c
}

// scalar is the value of $name: for arrays that of element 0.
func (v *variable) scalar() (string, bool) {
	switch {
	case v.attrs&aAssoc != 0:
		if v.assoc == nil {
			return "", false
		}
		s, ok := v.assoc.m["0"]
		return s.val, ok
	case v.attrs&aArray != 0:
		return v.arr.get(0)
	}
	return v.str, v.attrs&aSet != 0
}

// size is what the value counts for against the budget.
func (v *variable) size() int64 {
	n := int64(len(v.str))
	if v.arr != nil {
		n += v.arr.bytes
	}
	if v.assoc != nil {
		n += v.assoc.bytes
	}
	return n
}

// indexed is a sparse array: a dense beginning and the rest in a map.
type indexed struct {
	dense  []string
	sparse map[int64]string // indices > len(dense)
	keys   []int64          // of sparse, sorted; nil when not current
	bytes  int64
}

const elemOverhead = 16

func (a *indexed) clone() *indexed {
	c := &indexed{dense: slices.Clone(a.dense), bytes: a.bytes}
	if len(a.sparse) > 0 {
		c.sparse = make(map[int64]string, len(a.sparse))
		for k, v := range a.sparse {
			c.sparse[k] = v
		}
	}
	return c
}

func (a *indexed) len() int {
	if a == nil {
		return 0
	}
	return len(a.dense) + len(a.sparse)
}

func (a *indexed) get(i int64) (string, bool) {
	if a == nil {
		return "", false
	}
	if i >= 0 && i < int64(len(a.dense)) {
		return a.dense[i], true
	}
	s, ok := a.sparse[i]
	return s, ok
}

func (a *indexed) set(i int64, s string) {
	n := int64(len(a.dense))
	switch {
	case i < 0: // one past the largest index
	case i < n:
		a.bytes += int64(len(s) - len(a.dense[i]))
		a.dense[i] = s
	case i == n:
		a.bytes += int64(len(s)) + elemOverhead
		a.dense = append(a.dense, s)
		for len(a.sparse) > 0 {
			n++
			v, ok := a.sparse[n]
			if !ok {
				break
			}
			delete(a.sparse, n)
			a.keys = nil
			a.dense = append(a.dense, v)
		}
	default:
		if a.sparse == nil {
			a.sparse = map[int64]string{}
		}
		old, ok := a.sparse[i]
		if !ok {
			a.keys = nil
			a.bytes += 2 * elemOverhead
		}
		a.bytes += int64(len(s) - len(old))
		a.sparse[i] = s
	}
}

func (a *indexed) unset(i int64) {
	n := int64(len(a.dense))
	if i >= n {
		if old, ok := a.sparse[i]; ok {
			a.bytes -= int64(len(old)) + 2*elemOverhead
			delete(a.sparse, i)
			a.keys = nil
		}
		return
	}
	a.bytes -= int64(len(a.dense[i])) + elemOverhead
	if i < n-1 {
		if a.sparse == nil {
			a.sparse = map[int64]string{}
		}
		for k := i + 1; k < n; k++ {
			a.sparse[k] = a.dense[k]
		}
		a.keys = nil
	}
	a.dense = a.dense[:i]
}

// last is the highest index, -1 when empty.
func (a *indexed) last() int64 {
	if a == nil {
		return -1
	}
	if len(a.sparse) > 0 {
		var m int64
		for k := range a.sparse {
			m = max(m, k)
		}
		return m
	}
	return int64(len(a.dense)) - 1
}

func (a *indexed) values() []string {
	if a == nil {
		return nil
	}
	if len(a.sparse) == 0 {
		return a.dense[:len(a.dense):len(a.dense)]
	}
	out := slices.Clone(a.dense)
	for _, k := range a.sortedCopy() {
		out = append(out, a.sparse[k])
	}
	return out
}

// sortedCopy is sorted for arrays that other shells may read at the same time.
func (a *indexed) sortedCopy() []int64 {
	if a.keys != nil {
		return a.keys
	}
	keys := make([]int64, 0, len(a.sparse))
	for k := range a.sparse {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (a *indexed) indices() []int64 {
	if a == nil {
		return nil
	}
	out := make([]int64, 0, a.len())
	for i := range a.dense {
		out = append(out, int64(i))
	}
	return append(out, a.sortedCopy()...)
}

// assocArray is an associative array. It lists its keys in the order bash's hash table does.
type assocArray struct {
	m     map[string]assocValue
	seq   uint64
	bytes int64
}

type assocValue struct {
	val string
	seq uint64
}

func newAssoc() *assocArray { return &assocArray{m: map[string]assocValue{}} }

func (a *assocArray) clone() *assocArray {
	c := &assocArray{m: make(map[string]assocValue, len(a.m)), seq: a.seq, bytes: a.bytes}
	for k, v := range a.m {
		c.m[k] = v
	}
	return c
}

func (a *assocArray) value(k string) string {
	if a == nil {
		return ""
	}
	return a.m[k].val
}

func (a *assocArray) set(k, v string) {
	old, ok := a.m[k]
	if !ok {
		a.seq++
		old.seq = a.seq
		a.bytes += int64(len(k)) + 4*elemOverhead
	}
	a.bytes += int64(len(v) - len(old.val))
	a.m[k] = assocValue{v, old.seq}
}

func (a *assocArray) unset(k string) {
	if old, ok := a.m[k]; ok {
		a.bytes -= int64(len(k)+len(old.val)) + 4*elemOverhead
		delete(a.m, k)
	}
}

// keys lists the keys in the order of bash 5.2's hash table: 1024 buckets (times four whenever there are twice as
// many entries), FNV-1 hashes, newest first within a bucket.
func (a *assocArray) keys() []string {
	if a == nil {
		return nil
	}
	buckets := uint32(1024)
	for len(a.m) > int(buckets)*2 {
		buckets *= 4
	}
	return hashOrder(a.m, buckets)
}

// hashOrder lists keys as a hash table of bash with that many buckets does.
func hashOrder(m map[string]assocValue, buckets uint32) []string {
	type entry struct {
		key string
		b   uint32
		seq uint64
	}
	es := make([]entry, 0, len(m))
	for k, v := range m {
		h := uint32(2166136261)
		for i := 0; i < len(k); i++ {
			h *= 16777619
			h ^= uint32(k[i])
		}
		es = append(es, entry{k, h & (buckets - 1), v.seq})
	}
	sort.Slice(es, func(i, j int) bool {
		if es[i].b != es[j].b {
			return es[i].b < es[j].b
		}
		return es[i].seq > es[j].seq
	})
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.key
	}
	return out
}

func (a *assocArray) values() []string {
	keys := a.keys()
	for i, k := range keys {
		keys[i] = a.m[k].val
	}
	return keys
}

// letters lists the attributes as ${x@a} and declare -p show them.
func (v *variable) letters() string {
	var b strings.Builder
	for _, l := range []struct {
		a attr
		c byte
	}{{aArray, 'a'}, {aAssoc, 'A'}, {aInteger, 'i'}, {aNameref, 'n'}, {aReadonly, 'r'}, {aTrace, 't'}, {aExport, 'x'},
		{aCapital, 'c'}, {aLower, 'l'}, {aUpper, 'u'}} {
		if v.attrs&l.a != 0 {
			b.WriteByte(l.c)
		}
	}
	return b.String()
}

func itoa(n int) string { return strconv.Itoa(n) }
