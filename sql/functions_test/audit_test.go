package functions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// Filters come before the limit, pages do not overlap, and only the runs of the sandbox are seen.
func TestTimeline(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id, other := sqltest.Sandbox(t, pool), sqltest.Sandbox(t, pool)
	// What is claimed to be older than a day is not believed.
	base := time.Now().UTC().Add(-10 * time.Hour).Truncate(time.Minute)
	var rows []string
	for i := range 30 {
		code := 0
		if i%10 == 0 {
			code = 1
		}
		// Two runs of each moment.
		rows = append(rows,
			fmt.Sprintf(`{"sandbox_id":%q,"script":"run %d","route":"exec","caller":"c%d","exit_code":%d,"started_at":%q}`, id,
				i, i%2, code, base.Add(time.Duration(i/2)*time.Minute).Format(time.RFC3339)))
	}
	rows = append(rows,
		fmt.Sprintf(`{"sandbox_id":%q,"script":"killed","error":"EXEC_TIMEOUT","exit_code":0,"started_at":%q}`, id,
			base.Add(-time.Hour).Format(time.RFC3339)),
		fmt.Sprintf(`{"sandbox_id":%q,"script":"of another","exit_code":1}`, other))
	must[int64](t)(q.LogExecs(t.Context(), []byte("["+strings.Join(rows, ",")+"]")))
	list := func(p sqlcgen.TimelineParams) []string {
		t.Helper()
		p.Sandbox = id
		if p.MaxRows == 0 {
			p.MaxRows = 100
		}
		var out []string
		for _, r := range must[[]sqlcgen.FsExec](t)(q.Timeline(t.Context(), p)) {
			out = append(out, r.Script)
		}
		return out
	}
	yes, no, c1, text := true, false, "c1", "run 1"
	if got := list(sqlcgen.TimelineParams{Failed: &yes, MaxRows: 3}); !slices.Equal(got,
		[]string{"run 20", "run 10", "run 0"}) {
		t.Errorf("the last failures: %q", got)
	}
	if got := list(sqlcgen.TimelineParams{Failed: &yes}); len(got) != 4 || got[3] != "killed" {
		t.Errorf("all failures: %q", got)
	}
	if got := list(sqlcgen.TimelineParams{Failed: &no, Caller: &c1, Script: &text}); len(got) != 6 {
		t.Errorf("odd ones that ran well: %q", got)
	}
	if got := list(sqlcgen.TimelineParams{Committed: &yes}); got != nil {
		t.Errorf("committed: %q", got)
	}
	since := base.Add(14 * time.Minute)
	if got := list(sqlcgen.TimelineParams{Since: &since}); len(got) != 2 {
		t.Errorf("since: %q", got)
	}
	var all []string
	for p := (sqlcgen.TimelineParams{Sandbox: id, MaxRows: 7}); ; {
		page := must[[]sqlcgen.FsExec](t)(q.Timeline(t.Context(), p))
		for _, r := range page {
			all = append(all, r.Script)
		}
		if len(page) < 7 {
			break
		}
		p.Before, p.BeforeID = &page[6].StartedAt, &page[6].ID
	}
	if want := list(sqlcgen.TimelineParams{}); len(all) != 31 || !slices.Equal(all, want) {
		t.Errorf("in pages %q, at once %q", all, want)
	}
}

func TestHistoryAndBlame(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	s := newScope(t)
	for _, sql := range []string{
		"SELECT fs.mkdir('/d')", "SELECT fs.write_file('/d/old', 'one')", "SELECT fs.write_file('/d/f', 'first')",
		"SELECT fs.unlink('/d/f')",
		"SELECT fs.mv('/d/old', '/d/f')", "SELECT fs.write_file('/d/f', 'two')", "SELECT fs.chmod('/d/f', 384)",
		"SELECT fs.write_file('/d/g', 'x')", "SELECT fs.symlink('/d/f', '/d/l')",
	} {
		s.must(sql)
	}
	page := func(p sqlcgen.HistoryParams) []string {
		t.Helper()
		p.Sandbox, p.Path = s.id, "/d/f"
		var out []string
		for _, r := range must[[]sqlcgen.FsTouch](t)(q.History(t.Context(), p)) {
			out = append(out, r.Op+" "+r.Path)
		}
		return out
	}
	want := []string{"chmod /d/f", "write /d/f", "rename /d/old", "unlink /d/f", "create /d/f", "create /d/old"}
	if got := page(sqlcgen.HistoryParams{MaxRows: 10}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	before, seq := int64(6), int32(0)
	if got := page(sqlcgen.HistoryParams{MaxRows: 2, Before: &before, BeforeSeq: &seq}); !slices.Equal(got, want[2:4]) {
		t.Errorf("before version 6: %q", got)
	}
	// What is gone has a history too.
	s.must("SELECT fs.unlink('/d/f')")
	if got := page(sqlcgen.HistoryParams{MaxRows: 1}); !slices.Equal(got, []string{"unlink /d/f"}) {
		t.Errorf("of what is gone: %q", got)
	}

	exec := uuid.New()
	d := begin(t, q, s.id)
	d.create(1, "h", "by a run")
	d.Exec = fmt.Appendf(nil, `{"id":%q,"script":"make h","caller":"carol","route":"exec"}`, exec)
	d.apply(t, q)
	blame := func(id uuid.UUID) (out []string) {
		t.Helper()
		for _, r := range must[[]sqlcgen.FsLastWrite](t)(q.Blame(t.Context(), sqlcgen.BlameParams{Sandbox: id, Path: "/"})) {
			line := r.Path
			if r.Version != nil {
				line += fmt.Sprint(" ", *r.Version)
			}
			if r.ExecID != nil {
				line += " " + *r.Caller + ": " + *r.Script
			} else if r.Caller != nil {
				line += " SQL"
			}
			out = append(out, line)
		}
		return out
	}
	s.must("SELECT fs.mv('/d/g', '/d/moved'), fs.chmod('/d/moved', 384)") // neither writes
	if got := blame(s.id); !slices.Equal(got, []string{"/d/moved 8 SQL", "/h 11 carol: make h"}) {
		t.Errorf("blame: %q", got)
	}
	if got := blame(forked(t, q, s.id)); !slices.Equal(got, []string{"/d/moved", "/h"}) {
		t.Errorf("blame of a fork: %q", got)
	}
	_ = pool
	_, err := q.Blame(t.Context(), sqlcgen.BlameParams{Sandbox: s.id, Path: "/nowhere"})
	wantErrno(t, err, vfs.ENOENT)
}

// Old rows go by age, long journals by count; in batches, and nothing else goes.
func TestPrune(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	s, quiet := newScopeIn(t, u), newScopeIn(t, u)
	q := sqlcgen.New(sqltest.Connect(t, sqltest.GatewayURL(u)))
	for i := range 10 {
		s.must("SELECT fs.write_file('/f', $1)", []byte(fmt.Sprint(i)))
	}
	for _, scope := range []*scope{s, quiet} {
		scope.must("SELECT fs.write_file('/g', 'x')")
		must[int64](t)(q.LogExecs(t.Context(), fmt.Appendf(nil, `[{"sandbox_id":%q}]`, scope.id)))
	}
	s.root("UPDATE pgbox.change SET at = at - interval '2 days' WHERE sandbox_id = $1 AND version <= 4", s.id)
	s.root("UPDATE pgbox.exec SET started_at = started_at - interval '2 days' WHERE sandbox_id = $1", s.id)
	day := 24 * time.Hour
	keep := func(history *time.Duration, operations *int64, limit int32) (int64, int64) {
		t.Helper()
		r := must[sqlcgen.HousekeepRow](t)(q.Housekeep(t.Context(),
			sqlcgen.HousekeepParams{MaxRows: limit, History: history, Operations: operations}))
		return r.Changes, r.Execs
	}
	count := func(table string, id uuid.UUID) int {
		return one[int](t, s.admin, "SELECT count(*)::int FROM pgbox."+table+" WHERE sandbox_id = $1", id)
	}
	if c, e := keep(nil, nil, 3); c != 0 || e != 0 {
		t.Errorf("without a retention %d and %d went", c, e)
	}
	if c, e := keep(&day, nil, 3); c != 3 || e != 1 {
		t.Errorf("the first batch: %d and %d", c, e)
	}
	if c, e := keep(&day, nil, 3); c != 1 || e != 0 {
		t.Errorf("the second batch: %d and %d", c, e)
	}
	if n, m := count("change", s.id), count("change", quiet.id); n != 7 || m != 1 {
		t.Errorf("%d and %d operations are left", n, m)
	}
	pruned := func() int {
		return one[int](t, s.admin, "SELECT pruned_version::int FROM fs.sandbox WHERE id = $1", s.id)
	}
	if v := pruned(); v != 4 {
		t.Errorf("pruned up to %d", v)
	}
	// A journal that is long enough to be cut: operations behind the last.
	s.root(`INSERT INTO pgbox.change (sandbox_id, version, seq, op, path, ino) SELECT $1, 1000, n, 'write', '/f', 1024 FROM generate_series(1, 995) n`, s.id)
	five := int64(1000)
	s.must("SELECT fs.use($1)", s.id)
	s.must("SELECT fs.write_file('/f', 'new')") // it was used since the last round
	if c, _ := keep(nil, &five, 100); c != 3 {
		t.Errorf("%d went by count", c)
	}
	if n := one[int](t, s.admin, "SELECT min(version)::int FROM pgbox.change WHERE sandbox_id = $1", s.id); n != 8 ||
		count("change", s.id) != 1000 || count("change", quiet.id) != 1 || count("exec", quiet.id) != 1 {
		t.Errorf("the oldest operation is of version %d", n)
	}
	if v := pruned(); v != 7 {
		t.Errorf("pruned up to %d", v)
	}
}

// What an owner's sandboxes hold together is bounded, whoever makes them grow, and who is over may shrink.
func TestQuota(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	tenant := uuid.NewString()
	n := func(v int64) *int64 { return &v }
	make := func(owner string) *scope {
		t.Helper()
		s := &scope{TB: t, conn: sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t))), admin: sqltest.Owner(t)}
		s.id = create(t, q, sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: owner, Name: "q"}).ID
		s.must("SELECT fs.use($1)", s.id)
		return s
	}
	a, b := make("ann"), make("ann")
	c := make("carl")
	set := func(owner string, bytes, inodes, snapshots, sandboxes *int64) {
		t.Helper()
		if err := q.SetQuota(t.Context(), sqlcgen.SetQuotaParams{Tenant: tenant, Owner: owner, MaxBytes: bytes,
			MaxInodes: inodes, MaxSnapshots: snapshots, MaxSandboxes: sandboxes}); err != nil {
			t.Fatal(err)
		}
	}
	set("ann", n(10), nil, nil, nil)
	a.must("SELECT fs.write_file('/f', '123456')")
	b.fails(vfs.EDQUOT, "SELECT fs.write_file('/f', '12345')")
	if v := b.version(); v != 0 {
		t.Errorf("version %d", v)
	}
	d := begin(t, q, b.id)
	d.create(1, "f", "12345")
	_, err := q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EDQUOT)
	b.must("SELECT fs.write_file('/f', '1234')")
	c.must("SELECT fs.write_file('/f', '123456789012')") // another owner
	_, err = q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: a.id})
	wantErrno(t, err, vfs.EDQUOT)
	set("ann", n(1), nil, nil, nil)
	a.must("SELECT fs.write_file('/f', '12345')") // over, and smaller than before
	a.must("SELECT fs.chmod('/f', 384)")
	a.fails(vfs.EDQUOT, "SELECT fs.append_file('/f', 'x')")
	set("ann", nil, nil, nil, nil)
	a.must("SELECT fs.append_file('/f', 'x')")

	set("", nil, n(3), n(2), n(3))
	c.fails(vfs.EDQUOT, "SELECT fs.mkdir('/d')")
	_, err = q.CreateSandbox(t.Context(), sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: "dan", Name: "q"})
	wantErrno(t, err, vfs.EDQUOT)
	snap := func(s *scope, name string) error {
		_, err := q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: s.id, Name: name})
		return err
	}
	if err := snap(a, "1"); err != nil {
		t.Fatal(err)
	}
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: a.id,
		MaxSnapshots: n(1)}))
	wantErrno(t, snap(a, "2"), vfs.EDQUOT)
	if err := snap(c, "1"); err != nil {
		t.Fatal(err)
	}
	wantErrno(t, snap(c, "2"), vfs.EDQUOT)
	if got := one[string](t, a.admin,
		"SELECT concat_ws(' ', sandboxes, used_bytes, used_inodes, snapshots) FROM fs.quotas WHERE tenant = $1",
		tenant); got != "3 22 3 2" {
		t.Errorf("used: %s", got)
	}
	_ = pool
}

// Each limit of each holder refuses what goes past it with EDQUOT, and then the sandbox is what it was; what fits is
// done.
func TestQuota_everyLimit(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	n := func(v int64) *int64 { return &v }
	for _, holder := range []string{"sandbox", "owner", "tenant"} {
		for _, of := range []string{"bytes", "inodes", "snapshots"} {
			t.Run(holder+" "+of, func(t *testing.T) {
				tenant := uuid.NewString()
				make := func() *scope {
					s := &scope{TB: t, conn: sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t))), admin: sqltest.Owner(t)}
					s.id = create(t, q, sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: "ann", Name: "q"}).ID
					s.must("SELECT fs.use($1)", s.id)
					s.must("SELECT fs.write_file('/f', '12345')")
					s.must("SELECT fs.snapshot($1, 'first')", s.id)
					return s
				}
				s := make()
				held := int64(1)
				if holder != "sandbox" {
					make() // counts together
					held = 2
				}
				var bytes, inodes, snapshots *int64
				over, fits := "", ""
				switch of {
				case "bytes":
					bytes, over, fits = n(5*held+3), "SELECT fs.append_file('/f', '1234')", "SELECT fs.append_file('/f', '123')"
				case "inodes":
					inodes, over, fits = n(held+1), "SELECT fs.mkdir('/d/e', p_parents => true)", "SELECT fs.mkdir('/d')"
				case "snapshots":
					snapshots, over = n(held+1), fmt.Sprintf("SELECT fs.snapshot('%[1]s', 'second'), fs.snapshot('%[1]s', 'third')",
						s.id)
					fits = fmt.Sprintf("SELECT fs.snapshot('%s', 'second')", s.id)
				}
				if holder == "sandbox" {
					must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(),
						sqlcgen.UpdateSandboxParams{Sandbox: s.id, MaxBytes: bytes, MaxInodes: inodes, MaxSnapshots: snapshots,
							Clear: []string{}}))
				} else {
					p := sqlcgen.SetQuotaParams{Tenant: tenant, MaxBytes: bytes, MaxInodes: inodes, MaxSnapshots: snapshots}
					if holder == "owner" {
						p.Owner = "ann"
					}
					if err := q.SetQuota(t.Context(), p); err != nil {
						t.Fatal(err)
					}
				}
				state := func() string {
					return one[string](t, s.admin, `SELECT concat_ws(' ', s.version, s.used_bytes, s.used_inodes, array_to_string(s.layers, ','), (SELECT string_agg(n.name, ',' ORDER BY n.name) FROM pgbox.snapshot n WHERE n.sandbox_id = s.id),
						(SELECT count(*) FROM pgbox.change c WHERE c.sandbox_id = s.id)) FROM pgbox.sandbox s WHERE s.id = $1`, s.id)
				}
				before := state()
				s.fails(vfs.EDQUOT, over)
				if after := state(); after != before {
					t.Errorf("was %s, is %s", before, after)
				}
				s.must(fits)
				if after := state(); after == before {
					t.Error("what fits was not done")
				}
			})
		}
	}
}

// Two that grow at the same time do not both get the last byte.
func TestQuota_concurrent(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	tenant, ten := uuid.NewString(), int64(10)
	if err := q.SetQuota(t.Context(), sqlcgen.SetQuotaParams{Tenant: tenant, Owner: "ann", MaxBytes: &ten}); err != nil {
		t.Fatal(err)
	}
	const writers = 8
	result := make(chan error, writers)
	for range writers {
		id := create(t, q, sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: "ann", Name: "q"}).ID
		d := begin(t, q, id)
		d.create(1, "f", "12345")
		go func() {
			_, err := sqlcgen.New(pool).Apply(t.Context(), d.ApplyParams)
			result <- err
		}()
	}
	done := 0
	for range writers {
		if err := <-result; err == nil {
			done++
		} else {
			wantErrno(t, err, vfs.EDQUOT)
		}
	}
	if done != 2 {
		t.Errorf("%d of %d grew, want 2", done, writers)
	}
}
