package tree

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// check compares a map with its reference, by look-up, whole scan and scans from a key, and checks the nodes.
func (m *omap[K, V]) check(t *testing.T, ref map[K]V, eq func(a, b V) bool) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(ref))
	if m.len() != len(keys) {
		t.Fatalf("%d items, want %d", m.len(), len(keys))
	}
	for _, from := range []int{0, len(keys) / 3, len(keys) - 1} {
		if from < 0 || from >= len(keys) {
			continue
		}
		i := from
		m.ascend(keys[from], func(k K, v V) bool {
			if i >= len(keys) || k != keys[i] || !eq(v, ref[k]) {
				t.Fatalf("item %d is %v %v", i, k, v)
			}
			i++
			return true
		})
		if i != len(keys) {
			t.Fatalf("scan from %d ends at %d of %d", from, i, len(keys))
		}
	}
	i := 0
	m.all(func(k K, _ V) bool {
		if k != keys[i] {
			t.Fatalf("item %d is %v", i, k)
		}
		i++
		return true
	})
	for _, k := range keys {
		if v, ok := m.get(k); !ok || !eq(v, ref[k]) {
			t.Fatalf("get %v: %v %v", k, v, ok)
		}
	}
	if m.root != nil {
		depth(t, m.root)
	}
}

func depth[K cmp.Ordered, V any](t *testing.T, n *node[K, V]) int {
	if len(n.items) == 0 || len(n.items) > maxItems {
		t.Fatalf("a node of %d items", len(n.items))
	}
	if n.kids == nil {
		return 0
	}
	if len(n.kids) != len(n.items) {
		t.Fatalf("%d kids, %d items", len(n.kids), len(n.items))
	}
	d := depth(t, n.kids[0])
	for _, k := range n.kids[1:] {
		if depth(t, k) != d {
			t.Fatal("leaves at different depths")
		}
	}
	return d + 1
}

func TestMapAgainstReference(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	eq := func(a, b int) bool { return a == b }
	for _, space := range []int{20, 2000, 200_000} {
		type version struct {
			m   omap[int, int]
			ref map[int]int
		}
		var old []version
		var m omap[int, int]
		ref := map[int]int{}
		o := new(owner)
		for i := range 20_000 {
			k := r.IntN(space)
			// Grow, then shrink, so that nodes merge.
			if r.IntN(100) < 75-50*(i/10_000) {
				was, ok := ref[k]
				if got, replaced := m.set(o, k, i); replaced != ok || got != was {
					t.Fatalf("set %d: %v %v", k, got, replaced)
				}
				ref[k] = i
			} else {
				was, ok := ref[k]
				if got, deleted := m.delete(o, k); deleted != ok || got != was {
					t.Fatalf("delete %d: %v %v", k, got, deleted)
				}
				delete(ref, k)
			}
			if i%1500 == 0 {
				old = append(old, version{m, maps.Clone(ref)})
				o = new(owner)
			}
		}
		m.check(t, ref, eq)
		for i := range old {
			old[i].m.check(t, old[i].ref, eq)
		}
		for k := range maps.Clone(ref) {
			m.delete(o, k)
			delete(ref, k)
		}
		m.check(t, ref, eq)
	}
}

func TestMapBuild(t *testing.T) {
	for _, n := range []int{0, 1, maxItems, maxItems + 1, maxItems * maxItems, maxItems*maxItems + 1, 10_000} {
		ref := map[int]int{}
		var items []item[int, int]
		for i := range n {
			items = append(items, item[int, int]{i * 2, i})
			ref[i*2] = i
		}
		m := build(new(owner), items)
		m.check(t, ref, func(a, b int) bool { return a == b })
		before := m
		o := new(owner)
		m.set(o, 7, -1)
		m.delete(o, 0)
		before.check(t, ref, func(a, b int) bool { return a == b })
		ref[7] = -1
		delete(ref, 0)
		m.check(t, ref, func(a, b int) bool { return a == b })
	}
}
