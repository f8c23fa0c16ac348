package replication

import (
	"fmt"
	"slices"
	"strings"
)

// Finding is a precondition of the listener that is not met.
type Finding struct {
	Problem string
	Advice  string // what to run, and where
}

func (f Finding) String() string { return f.Problem + ": " + f.Advice }

// PreflightError carries every Finding of one look.
type PreflightError struct{ Findings []Finding }

func (e *PreflightError) Error() string {
	all := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		all[i] = f.String()
	}
	return strings.Join(all, "; ")
}

// facts are what the preflight looks at.
type facts struct {
	Recovery     bool         `json:"recovery"`
	WALLevel     string       `json:"walLevel"`
	User         string       `json:"user"`
	MayReplicate bool         `json:"mayReplicate"`
	MaxSlots     int          `json:"maxSlots"`
	Slots        int          `json:"slots"`
	MaxSenders   int          `json:"maxSenders"`
	Senders      int          `json:"senders"`
	Publication  *publication `json:"publication"`
	Published    []published  `json:"published"`
	Tables       []table      `json:"tables"`
}

type publication struct {
	Insert   bool `json:"insert"`
	Update   bool `json:"update"`
	Delete   bool `json:"delete"`
	Truncate bool `json:"truncate"`
}

// published is a table as the publication has it.
type published struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Filter  *string  `json:"filter"`
}

// table is a table as it is.
type table struct {
	Name     string   `json:"name"`
	Columns  []string `json:"columns"`
	Identity string   `json:"identity"` // pg_class.relreplident
	Key      []string `json:"key"`      // columns of the identity's index
}

// check returns what is wrong for a listener that follows the tables through a publication.
func (f *facts) check(name string, tables []string) []Finding {
	var out []Finding
	add := func(problem, advice string) { out = append(out, Finding{problem, advice}) }
	if f.Recovery {
		add("the server is a standby", "point DATABASE_DIRECT_URL at the primary")
	}
	if f.WALLevel != "logical" {
		add("wal_level is "+f.WALLevel, "ALTER SYSTEM SET wal_level = 'logical', then restart the server")
	}
	if !f.MayReplicate {
		add("user "+f.User+" may not replicate", fmt.Sprintf("ALTER ROLE %s REPLICATION", quote(f.User)))
	}
	if f.Slots >= f.MaxSlots {
		add(fmt.Sprintf("all %d replication slots are in use", f.MaxSlots),
			fmt.Sprintf("SELECT pg_drop_replication_slot(…) for one that pg_replication_slots shows as abandoned, or ALTER SYSTEM SET max_replication_slots = %d, then restart the server", f.MaxSlots+8))
	}
	if f.Senders >= f.MaxSenders {
		add(fmt.Sprintf("all %d WAL senders are in use", f.MaxSenders),
			fmt.Sprintf("ALTER SYSTEM SET max_wal_senders = %d, then restart the server", f.MaxSenders+8))
	}
	if f.Publication == nil {
		add("there is no publication "+name, "pgbox migrate up")
		return out
	}
	if p := f.Publication; !p.Insert || !p.Update || !p.Delete || !p.Truncate {
		add("publication "+name+" leaves out operations",
			fmt.Sprintf("ALTER PUBLICATION %s SET (publish = 'insert, update, delete, truncate')", quote(name)))
	}
	for _, t := range tables {
		i := slices.IndexFunc(f.Tables, func(have table) bool { return have.Name == t })
		if i < 0 {
			add("there is no table "+t, "pgbox migrate up")
			continue
		}
		have := f.Tables[i]
		j := slices.IndexFunc(f.Published, func(p published) bool { return p.Name == t })
		if j < 0 {
			add("publication "+name+" has no table "+t, fmt.Sprintf("ALTER PUBLICATION %s ADD TABLE %s", quote(name), t))
		} else if p := f.Published[j]; p.Filter != nil || !subset(have.Columns, p.Columns) {
			add("publication "+name+" shows only a part of table "+t,
				fmt.Sprintf("ALTER PUBLICATION %s DROP TABLE %s; ALTER PUBLICATION %s ADD TABLE %s", quote(name), t,
					quote(name), t))
		}
		if have.Identity != "f" && (have.Identity == "n" || len(have.Key) == 0) {
			add("table "+t+" has no replica identity, so a removed row does not say which it was",
				fmt.Sprintf("ALTER TABLE %s REPLICA IDENTITY DEFAULT (it needs a primary key)", t))
		}
	}
	return out
}

func subset(a, b []string) bool {
	for _, v := range a {
		if !slices.Contains(b, v) {
			return false
		}
	}
	return true
}

// quote makes an identifier of a name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
