package replication

import (
	"fmt"
	"strconv"
	"strings"
)

// LSN is a position in the write-ahead log, in bytes.
type LSN uint64

// String formats a position as PostgreSQL does.
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint32(l>>32), uint32(l)) }

// ParseLSN reads a position as PostgreSQL prints it.
func ParseLSN(s string) (LSN, error) {
	hi, lo, ok := strings.Cut(s, "/")
	h, err1 := strconv.ParseUint(hi, 16, 32)
	l, err2 := strconv.ParseUint(lo, 16, 32)
	if !ok || err1 != nil || err2 != nil {
		return 0, fmt.Errorf("not a position in the log: %q", s)
	}
	return LSN(h<<32 | l), nil
}
