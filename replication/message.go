package replication

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Message is one message of the plugin pgoutput, protocol version 1.
type Message interface{ message() }

// Begin starts a transaction.
type Begin struct {
	Final LSN // of its commit
	Time  time.Time
	XID   uint32
}

// Commit ends a transaction. End is the position behind it: the one to acknowledge.
type Commit struct {
	LSN, End LSN
	Time     time.Time
}

// Relation describes a table; it comes before the first change of the table and again when its shape has changed.
type Relation struct {
	ID        uint32
	Namespace string
	Name      string
	Identity  byte // d (primary key), n, f or i, as in pg_class.relreplident
	Columns   []Column
}

// Column is a column of a Relation.
type Column struct {
	Name string
	Key  bool   // part of the replica identity
	Type uint32 // OID
	Mod  int32
}

// Insert is a new row.
type Insert struct {
	Relation uint32
	New      Tuple
}

// Update is a changed row. Old is nil unless the replica identity changed (then it holds the old key; other columns are
// NULL) or is FULL.
type Update struct {
	Relation uint32
	Old, New Tuple
}

// Delete is a removed row. Old holds its key.
type Delete struct {
	Relation uint32
	Old      Tuple
}

// Truncate empties tables.
type Truncate struct{ Relations []uint32 }

// Other is a message that concerns nobody here: an origin, a type, a logical message.
type Other struct{ Kind byte }

func (*Begin) message()    {}
func (*Commit) message()   {}
func (*Relation) message() {}
func (*Insert) message()   {}
func (*Update) message()   {}
func (*Delete) message()   {}
func (*Truncate) message() {}
func (*Other) message()    {}

// Tuple is a row, in the order of the Relation's columns.
type Tuple []Value

// Kinds of values.
const (
	Null      = 'n'
	Unchanged = 'u' // a value stored out of line that did not change; it is not sent
	Text      = 't'
	Binary    = 'b'
)

// Value is the value of a column. Data belongs to the message and is overwritten by the next one.
type Value struct {
	Kind byte
	Data []byte
}

// Decoder decodes messages. Rows it returns are valid until the next call of Decode; the other messages stay valid.
type Decoder struct {
	insert   Insert
	update   Update
	delete   Delete
	old, new Tuple
}

var errShort = errors.New("message is too short")

// Decode decodes one message. Every error means that the stream cannot be understood.
func (d *Decoder) Decode(data []byte) (Message, error) {
	if len(data) == 0 {
		return nil, errShort
	}
	r := reader{b: data[1:]}
	m, err := d.decode(data[0], &r)
	switch {
	case err != nil:
		return nil, fmt.Errorf("message %q: %w", data[0], err)
	case r.short:
		return nil, fmt.Errorf("message %q: %w", data[0], errShort)
	case len(r.b) > 0:
		return nil, fmt.Errorf("message %q: %d bytes too many", data[0], len(r.b))
	}
	return m, nil
}

func (d *Decoder) decode(kind byte, r *reader) (Message, error) {
	switch kind {
	case 'B':
		return &Begin{Final: r.lsn(), Time: r.time(), XID: r.uint32()}, nil
	case 'C':
		if flags := r.byte(); flags != 0 {
			return nil, fmt.Errorf("unknown flags %d", flags)
		}
		return &Commit{LSN: r.lsn(), End: r.lsn(), Time: r.time()}, nil
	case 'R':
		return relation(r)
	case 'I':
		d.insert.Relation = r.uint32()
		if k := r.byte(); k != 'N' {
			return nil, fmt.Errorf("unknown tuple %q", k)
		}
		var err error
		d.new, err = r.tuple(d.new)
		d.insert.New = d.new
		return &d.insert, err
	case 'U':
		d.update.Relation, d.update.Old = r.uint32(), nil
		k := r.byte()
		var err error
		if k == 'K' || k == 'O' {
			if d.old, err = r.tuple(d.old); err != nil {
				return nil, err
			}
			d.update.Old = d.old
			k = r.byte()
		}
		if k != 'N' {
			return nil, fmt.Errorf("unknown tuple %q", k)
		}
		d.new, err = r.tuple(d.new)
		d.update.New = d.new
		return &d.update, err
	case 'D':
		d.delete.Relation = r.uint32()
		if k := r.byte(); k != 'K' && k != 'O' {
			return nil, fmt.Errorf("unknown tuple %q", k)
		}
		var err error
		d.old, err = r.tuple(d.old)
		d.delete.Old = d.old
		return &d.delete, err
	case 'T':
		n := int(r.uint32())
		_ = r.byte() // CASCADE, RESTART IDENTITY
		if n < 0 || n > len(r.b)/4 {
			return nil, errShort
		}
		t := &Truncate{Relations: make([]uint32, n)}
		for i := range t.Relations {
			t.Relations[i] = r.uint32()
		}
		return t, nil
	case 'O', 'Y', 'M':
		r.b = nil
		return &Other{Kind: kind}, nil
	}
	return nil, errors.New("unknown kind")
}

func relation(r *reader) (Message, error) {
	m := &Relation{ID: r.uint32(), Namespace: r.string(), Name: r.string(), Identity: r.byte()}
	n := int(r.uint16())
	if n > len(r.b)/10 { // a column has at least that many bytes
		return nil, errShort
	}
	m.Columns = make([]Column, n)
	for i := range m.Columns {
		flags := r.byte()
		m.Columns[i] = Column{Key: flags&1 != 0, Name: r.string(), Type: r.uint32(), Mod: int32(r.uint32())}
	}
	return m, nil
}

// equal reports whether two descriptions are of the same shape.
func (a *Relation) equal(b *Relation) bool {
	if a.ID != b.ID || a.Namespace != b.Namespace || a.Name != b.Name || a.Identity != b.Identity ||
		len(a.Columns) != len(b.Columns) {
		return false
	}
	for i := range a.Columns {
		if a.Columns[i] != b.Columns[i] {
			return false
		}
	}
	return true
}

// reader takes values from the front of a message. What is missing reads as zero and sets short.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if v := r.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if v := r.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if v := r.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func (r *reader) lsn() LSN { return LSN(r.uint64()) }

// epoch is where PostgreSQL's time begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (r *reader) time() time.Time {
	// Not as a Duration: that ends after 292 years.
	us := int64(r.uint64())
	return time.Unix(epoch.Unix()+us/1e6, us%1e6*1e3).UTC()
}

func (r *reader) string() string {
	for i, c := range r.b {
		if c == 0 {
			s := string(r.b[:i])
			r.b = r.b[i+1:]
			return s
		}
	}
	r.short, r.b = true, nil
	return ""
}

func (r *reader) tuple(t Tuple) (Tuple, error) {
	n := int(r.uint16())
	if n > len(r.b) { // a value has at least one byte
		return t, errShort
	}
	if cap(t) < n {
		t = make(Tuple, n)
	}
	t = t[:n]
	for i := range t {
		t[i] = Value{Kind: r.byte()}
		switch t[i].Kind {
		case Null, Unchanged:
		case Text, Binary:
			t[i].Data = r.take(int(int32(r.uint32())))
		default:
			if r.short {
				return t, errShort
			}
			return t, fmt.Errorf("unknown value %q", t[i].Kind)
		}
	}
	return t, nil
}
