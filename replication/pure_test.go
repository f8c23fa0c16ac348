package replication

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	type event func(progress) progress
	begin := func(p progress) progress { return p.begin() }
	commit := func(end LSN) event { return func(p progress) progress { return p.commit(end) } }
	keepalive := func(end LSN) event { return func(p progress) progress { return p.keepalive(end) } }
	seen := func(end LSN) event { return func(p progress) progress { return p.seen(end) } }
	for _, c := range []struct {
		name    string
		events  []event
		applied LSN
		server  LSN
		status  LSN
	}{
		{"nothing yet: not zero, which means something else", nil, 0, 0, 1},
		{"a commit is acknowledged at its end", []event{begin, commit(100)}, 100, 100, 100},
		{"a transaction under way is not acknowledged", []event{begin, commit(100), begin}, 100, 100, 100},
		{"nor by a keepalive in the midst of it", []event{begin, commit(100), begin, keepalive(500)}, 100, 500, 100},
		{"after which its commit counts for itself", []event{begin, commit(100), begin, keepalive(500), commit(300)}, 300,
			500, 300},
		{"between transactions a keepalive counts", []event{begin, commit(100), keepalive(500)}, 500, 500, 500},
		{"what the server has beyond is known, not acknowledged", []event{begin, commit(100), seen(900)}, 100, 900, 100},
		{"nothing goes back", []event{keepalive(500), begin, commit(100), keepalive(50), seen(1)}, 500, 500, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p progress
			for _, e := range c.events {
				p = e(p)
			}
			if p.applied != c.applied || p.server != c.server || p.status() != c.status {
				t.Errorf("applied %d, server %d, status %d; want %d, %d, %d", p.applied, p.server, p.status(), c.applied, c.server,
					c.status)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	good := func() *facts {
		return &facts{
			WALLevel: "logical", User: "o'user", MayReplicate: true, MaxSlots: 10, MaxSenders: 10,
			Publication: &publication{true, true, true, true},
			Published:   []published{{Name: "s.t", Columns: []string{"k", "v"}}},
			Tables:      []table{{Name: "s.t", Columns: []string{"k", "v"}, Identity: "d", Key: []string{"k"}}},
		}
	}
	filter := "(k > 1)"
	for _, c := range []struct {
		name   string
		spoil  func(f *facts)
		advice string // of the only finding; "": none
	}{
		{"all is well", func(*facts) {}, ""},
		{"standby", func(f *facts) { f.Recovery = true }, "primary"},
		{"wal_level", func(f *facts) { f.WALLevel = "replica" }, "ALTER SYSTEM SET wal_level = 'logical'"},
		{"rights", func(f *facts) { f.MayReplicate = false }, `ALTER ROLE "o'user" REPLICATION`},
		{"slots", func(f *facts) { f.Slots = 10 }, "max_replication_slots = 18"},
		{"last slot", func(f *facts) { f.Slots = 9 }, ""},
		{"senders", func(f *facts) { f.Senders = 10 }, "max_wal_senders = 18"},
		{"no publication", func(f *facts) { f.Publication = nil }, "pgbox migrate up"},
		{"operations", func(f *facts) { f.Publication.Truncate = false }, "publish = 'insert, update, delete, truncate'"},
		{"no table", func(f *facts) { f.Tables = nil }, "pgbox migrate up"},
		{"not published", func(f *facts) { f.Published = nil }, `ALTER PUBLICATION "p" ADD TABLE s.t`},
		{"column list", func(f *facts) { f.Published[0].Columns = []string{"k"} }, "DROP TABLE s.t"},
		{"row filter", func(f *facts) { f.Published[0].Filter = &filter }, "DROP TABLE s.t"},
		{"no identity", func(f *facts) { f.Tables[0].Identity = "n" }, "REPLICA IDENTITY DEFAULT"},
		{"no primary key", func(f *facts) { f.Tables[0].Key = nil }, "REPLICA IDENTITY DEFAULT"},
		{"full identity needs no key", func(f *facts) { f.Tables[0].Identity, f.Tables[0].Key = "f", nil }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := good()
			c.spoil(f)
			got := f.check("p", []string{"s.t"})
			switch {
			case c.advice == "" && len(got) == 0:
			case c.advice != "" && len(got) == 1 && strings.Contains(got[0].Advice, c.advice) && got[0].Problem != "":
			default:
				t.Errorf("%v, want advice with %q", got, c.advice)
			}
		})
	}
}

func TestPauseGrowsToItsBoundWithJitter(t *testing.T) {
	l := New(Config{})
	lost, findings := errSilent, error(&PreflightError{[]Finding{{"p", "a"}}})
	for fails, most := range map[int]float64{0: .1, 1: .2, 3: .8, 10: 10, 100: 10} {
		different := map[int64]bool{}
		for range 50 {
			d := l.pause(fails, lost)
			if s := d.Seconds(); s < most/2 || s > most {
				t.Errorf("after %d failures %v, want %v to %v s", fails, d, most/2, most)
			}
			different[int64(d)] = true
		}
		if len(different) < 10 {
			t.Errorf("after %d failures %d different pauses of 50", fails, len(different))
		}
	}
	if d := l.pause(0, findings); d.Seconds() < 30 {
		t.Errorf("%v after findings", d)
	}
}

func TestFailuresBeforeAStreamThatWorkedAreForgotten(t *testing.T) {
	l := New(Config{})
	for _, c := range []struct {
		fails int
		lived time.Duration
		want  int
	}{{20, time.Minute, 0}, {20, 2 * time.Second, 0}, {20, 0, 3}, {1, 0, 1}, {0, time.Hour, 0}} {
		if got := l.worked(c.fails, c.lived); got != c.want {
			t.Errorf("after %d failures and a stream of %v: %d, want %d", c.fails, c.lived, got, c.want)
		}
	}
}

func TestLSN(t *testing.T) {
	for s, want := range map[string]LSN{"0/0": 0, "16/B374D848": 0x16B374D848, "FFFFFFFF/FFFFFFFF": 1<<64 - 1} {
		got, err := ParseLSN(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "0/", "/0", "x/0", "0/100000000", "1/2/3"} {
		if got, err := ParseLSN(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}
