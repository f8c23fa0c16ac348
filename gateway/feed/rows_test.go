package feed

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/replication"
)

// relation is a table as its columns are read, so that a row can be made of it.
func relation(name string) *replication.Relation {
	r := &replication.Relation{ID: 1, Namespace: "pgbox", Name: name}
	for _, c := range tables[name] {
		r.Columns = append(r.Columns, replication.Column{Name: c.name, Type: c.oid})
	}
	return r
}

func TestShapeRefusesWhatIsNotExpected(t *testing.T) {
	for name := range tables {
		if s, err := shapeOf(relation(name)); err != nil || s.table != name {
			t.Errorf("%s: %v", name, err)
		}
		for i := range tables[name] {
			r := relation(name)
			r.Columns[i].Type = 1
			if _, err := shapeOf(r); err == nil {
				t.Errorf("%s with a column of another type is taken", name)
			}
			r = relation(name)
			r.Columns = append(r.Columns[:i], r.Columns[i+1:]...)
			if _, err := shapeOf(r); err == nil {
				t.Errorf("%s without a column is taken", name)
			}
		}
	}
	for _, other := range []*replication.Relation{{Namespace: "pgbox", Name: "blob"},
		{Namespace: "public", Name: "sandbox"}} {
		if s, err := shapeOf(other); err != nil || s.table != "" {
			t.Errorf("%+v: %+v, %v", other, s, err)
		}
	}
}

// Whatever a row holds, reading it is an error or a value, never a panic.
func FuzzFence(f *testing.F) {
	s, err := shapeOf(relation("sandbox"))
	if err != nil {
		f.Fatal(err)
	}
	id := uuid.New()
	array := append([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x0b, 0x86, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 16}, id[:]...)
	f.Add(id[:], []byte("text"), make([]byte, 8), array, []byte("\x01{}"), false)
	f.Add([]byte{}, []byte{}, []byte{1}, []byte{0, 0, 0, 1}, []byte{}, true)
	f.Fuzz(func(t *testing.T, id, text, number, array, jsonb []byte, null bool) {
		by := map[uint32][]byte{oidUUID: id, oidText: text, oidInt8: number, oidUUIDArray: array, oidJSONB: jsonb,
			oidTimestamptz: number}
		tuple := make(replication.Tuple, len(tables["sandbox"]))
		for i, c := range tables["sandbox"] {
			tuple[i] = replication.Value{Kind: replication.Binary, Data: by[c.oid]}
			if null && i >= sandboxMaxBytes {
				tuple[i] = replication.Value{Kind: replication.Null}
			}
		}
		var fence store.Fence
		r := row{s: s, t: tuple}
		r.fence(&fence)
		if r.err == nil && (len(fence.Layers) == 0 || len(id) != 16 || len(number) != 8) {
			t.Fatalf("%+v is taken", fence)
		}
	})
}
