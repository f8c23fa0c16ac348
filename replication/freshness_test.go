package replication

import (
	"testing"
	"time"
)

// One reader that wanted milliseconds must not keep the barriers at that pace for all who can wait.
func TestBarriersForgetAnOldSmallAge(t *testing.T) {
	var f freshness
	f.init()
	later := func(d time.Duration) { f.base = f.base.Add(-d) }
	pace := func() time.Duration { return f.interval(10 * time.Second) }
	if got := pace(); got != 10*time.Second {
		t.Errorf("nobody asked: a barrier each %v", got)
	}
	f.within(30 * time.Millisecond)
	f.within(3 * time.Second)
	if got := pace(); got != 10*time.Millisecond {
		t.Errorf("the smallest age was 30 ms: a barrier each %v", got)
	}
	for range 4 {
		later(demandFor / 3)
		f.within(3 * time.Second)
	}
	if got := pace(); got != time.Second {
		t.Errorf("for a while nobody asked for less than 3 s: a barrier each %v", got)
	}
	later(demandFor + 1)
	if got := pace(); got != 10*time.Second {
		t.Errorf("nobody asks any more: a barrier each %v", got)
	}
}
