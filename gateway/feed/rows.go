package feed

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/replication"
)

// OIDs of the types of the published columns.
const (
	oidBytea       = 17
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidTimestamptz = 1184
	oidUUID        = 2950
	oidUUIDArray   = 2951
	oidJSONB       = 3802
)

type column struct {
	name string
	oid  uint32
}

// tables are the columns that are read, by table of schema pgbox. Their order is that of the constants below.
var tables = map[string][]column{
	"sandbox": {
		{"id", oidUUID}, {"tenant", oidText}, {"owner", oidText}, {"name", oidText}, {"version", oidInt8},
		{"layers", oidUUIDArray},
		{"next_ino", oidInt8}, {"used_bytes", oidInt8}, {"used_inodes", oidInt8}, {"max_bytes", oidInt8},
		{"max_inodes", oidInt8},
		{"env", oidJSONB}, {"config", oidJSONB}, {"state_sha256", oidBytea}, {"expires_at", oidTimestamptz},
		{"deleted_at", oidTimestamptz},
		{"last_used_at", oidTimestamptz},
	},
	"layer": {{"id", oidUUID}},
	"inode": {
		{"layer_id", oidUUID}, {"ino", oidInt8}, {"kind", oidInt2}, {"mode", oidInt4}, {"uid", oidInt4}, {"gid", oidInt4},
		{"nlink", oidInt4},
		{"rdev", oidInt4}, {"size", oidInt8}, {"mtime", oidInt8}, {"ctime", oidInt8}, {"target", oidText},
	},
	"dirent": {{"layer_id", oidUUID}, {"parent_ino", oidInt8}, {"name", oidText}, {"ino", oidInt8}},
	"chunk":  {{"layer_id", oidUUID}, {"ino", oidInt8}, {"idx", oidInt4}, {"sha256", oidBytea}},
}

// Tables are the tables a publication must have.
func Tables() []string {
	return []string{"pgbox.sandbox", "pgbox.layer", "pgbox.inode", "pgbox.dirent", "pgbox.chunk"}
}

const (
	sandboxID = iota
	sandboxTenant
	sandboxOwner
	sandboxName
	sandboxVersion
	sandboxLayers
	sandboxNextIno
	sandboxUsedBytes
	sandboxUsedInodes
	sandboxMaxBytes
	sandboxMaxInodes
	sandboxEnv
	sandboxConfig
	sandboxState
	sandboxExpiresAt
	sandboxDeletedAt
	sandboxLastUsedAt
)

const (
	inodeLayer = iota
	inodeIno
	inodeKind
	inodeMode
	inodeUID
	inodeGID
	inodeNlink
	inodeRdev
	inodeSize
	inodeMtime
	inodeCtime
	inodeTarget
)

const (
	direntLayer = iota
	direntParent
	direntName
	direntIno
)

const (
	chunkLayer = iota
	chunkIno
	chunkIdx
	chunkSHA256
)

// shape is where the columns of a table are in the rows of a relation.
type shape struct {
	relation *replication.Relation
	table    string // "": none of ours
	at       []int
}

var errShape = errors.New("unknown shape")

// shapeOf finds the columns that are read; they must have the types that are expected.
func shapeOf(r *replication.Relation) (*shape, error) {
	s := &shape{relation: r}
	want, ok := tables[r.Name]
	if !ok || r.Namespace != "pgbox" {
		return s, nil
	}
	s.table, s.at = r.Name, make([]int, len(want))
	for i, w := range want {
		s.at[i] = -1
		for k, c := range r.Columns {
			if c.Name == w.name && c.Type == w.oid {
				s.at[i] = k
			}
		}
		if s.at[i] < 0 {
			return nil, fmt.Errorf("%w: table %s has no column %s of type %d", errShape, r.Name, w.name, w.oid)
		}
	}
	return s, nil
}

// row reads the columns of one row. The first fault stays in err; what is read after it is zero.
type row struct {
	s   *shape
	t   replication.Tuple
	err error
}

func (r *row) fail(i int, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: column %s of %s: %s", errShape, tables[r.s.table][i].name, r.s.table, what)
	}
}

// raw is a value's bytes; ok is false for NULL.
func (r *row) raw(i int) (b []byte, ok bool) {
	v := &r.t[r.s.at[i]]
	switch v.Kind {
	case replication.Binary:
		return v.Data, true
	case replication.Null:
		return nil, false
	}
	r.fail(i, "not a binary value")
	return nil, false
}

func (r *row) unchanged(i int) bool { return r.t[r.s.at[i]].Kind == replication.Unchanged }

func (r *row) fixed(i, n int) []byte {
	b, ok := r.raw(i)
	if !ok || len(b) != n {
		r.fail(i, "not the length of its type")
		return nil
	}
	return b
}

func (r *row) int64(i int) int64 {
	if b := r.fixed(i, 8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *row) int32(i int) int32 {
	if b := r.fixed(i, 4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *row) int16(i int) int16 {
	if b := r.fixed(i, 2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *row) null(i int) bool { return r.t[r.s.at[i]].Kind == replication.Null }

func (r *row) optional(i int) *int64 {
	if r.null(i) {
		return nil
	}
	v := r.int64(i)
	return &v
}

func (r *row) text(i int) string {
	b, _ := r.raw(i)
	return string(b)
}

func (r *row) uuid(i int) (id uuid.UUID) {
	copy(id[:], r.fixed(i, 16))
	return id
}

func (r *row) hash(i int) (h tree.Hash) {
	copy(h[:], r.fixed(i, len(h)))
	return h
}

// json is a jsonb, whose binary form is the text behind a version.
func (r *row) json(i int) json.RawMessage {
	b, ok := r.raw(i)
	if !ok || len(b) < 2 || b[0] != 1 {
		r.fail(i, "not a jsonb")
		return nil
	}
	return append(json.RawMessage(nil), b[1:]...)
}

// pgEpoch is where PostgreSQL's time begins, in seconds.
const pgEpoch = 946684800

func (r *row) time(i int) *time.Time {
	if r.null(i) {
		return nil
	}
	us := r.int64(i)
	t := time.Unix(pgEpoch+us/1e6, us%1e6*1e3)
	return &t
}

// uuids is a uuid[] of one dimension: dimensions, flags, type; length, lower bound; then each element with its length.
func (r *row) uuids(i int) []uuid.UUID {
	b, ok := r.raw(i)
	if !ok || len(b) < 20 || binary.BigEndian.Uint32(b) != 1 || binary.BigEndian.Uint32(b[4:]) != 0 ||
		binary.BigEndian.Uint32(b[8:]) != oidUUID {
		r.fail(i, "not an array of uuids")
		return nil
	}
	n := int64(binary.BigEndian.Uint32(b[12:]))
	b = b[20:]
	if n == 0 || int64(len(b)) != n*20 {
		r.fail(i, "not an array of uuids")
		return nil
	}
	out := make([]uuid.UUID, n)
	for k := range out {
		if binary.BigEndian.Uint32(b) != 16 {
			r.fail(i, "not an array of uuids")
			return nil
		}
		copy(out[k][:], b[4:20])
		b = b[20:]
	}
	return out
}

// fence reads a row of sandbox into f. Columns that were not sent stay as they are in f, and same tells which.
func (r *row) fence(f *store.Fence) (same unsent, gone bool) {
	f.ID, f.Tenant, f.Owner, f.Name = r.uuid(sandboxID), r.text(sandboxTenant), r.text(sandboxOwner), r.text(sandboxName)
	f.Version, f.NextIno = r.int64(sandboxVersion), r.int64(sandboxNextIno)
	f.UsedBytes, f.UsedInodes = r.int64(sandboxUsedBytes), r.int64(sandboxUsedInodes)
	f.MaxBytes, f.MaxInodes = r.optional(sandboxMaxBytes), r.optional(sandboxMaxInodes)
	f.ExpiresAt, f.ChangedAt = r.time(sandboxExpiresAt), r.time(sandboxLastUsedAt)
	if same.layers = r.unchanged(sandboxLayers); !same.layers {
		f.Layers = r.uuids(sandboxLayers)
	}
	if same.env = r.unchanged(sandboxEnv); !same.env {
		f.Env = r.json(sandboxEnv)
	}
	if same.config = r.unchanged(sandboxConfig); !same.config {
		f.Config = r.json(sandboxConfig)
	}
	if same.state = r.unchanged(sandboxState); !same.state {
		f.State = nil
		if !r.null(sandboxState) {
			h := r.hash(sandboxState)
			f.State = &h
		}
	}
	return same, !r.null(sandboxDeletedAt)
}

// unsent are the columns of sandbox that a row left out because they are stored out of line and did not change.
type unsent struct{ layers, env, config, state bool }
