package migrate

import (
	"errors"
	"fmt"
)

// Why [Check] or [Up] refuses a database; compare with errors.Is.
var (
	// ErrNotMigrated: the database holds no pgbox schema at all.
	ErrNotMigrated = errors.New("the database has no pgbox schema")
	// ErrOlder: the database stopped at an older migration than this binary carries.
	ErrOlder = errors.New("the database has an older schema")
	// ErrNewer: the database was migrated by a newer binary.
	ErrNewer = errors.New("the database has a newer schema")
	// ErrDigest: same migrations, but functions and views from other files.
	ErrDigest = errors.New("the functions of the database are those of another build")
	// ErrTampered: functions were changed in the database after they were applied.
	ErrTampered = errors.New("the functions of the database were changed by hand")
)

// SchemaError is a refusal with what to do about it.
type SchemaError struct {
	Err    error  // one of the Err values of this package
	Have   string // what the database has
	Want   string // what this binary carries
	Advice string // one sentence for the operator
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%v (database %s, this binary %s): %s", e.Err, e.Have, e.Want, e.Advice)
}

// Unwrap makes errors.Is(err, ErrOlder) work.
func (e *SchemaError) Unwrap() error { return e.Err }
