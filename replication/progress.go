package replication

// progress is how far a stream has come. It is a value: each method returns the progress after one event.
type progress struct {
	open    bool // a transaction has begun and not ended
	applied LSN  // every commit before this has been handed over
	server  LSN  // how far the server says its log goes
}

// begin: a transaction begins to arrive.
func (p progress) begin() progress {
	p.open = true
	return p
}

// commit: a transaction that ends before end has been handed over.
func (p progress) commit(end LSN) progress {
	p.open = false
	p.applied = max(p.applied, end)
	p.server = max(p.server, end)
	return p
}

// keepalive: the server has sent everything before end. Within a transaction that proves nothing: it is sent from its
// commit on, and end may lie behind that.
func (p progress) keepalive(end LSN) progress {
	p.server = max(p.server, end)
	if !p.open {
		p.applied = max(p.applied, end)
	}
	return p
}

// seen: a message told how far the server's log goes.
func (p progress) seen(end LSN) progress {
	p.server = max(p.server, end)
	return p
}

// status is what to acknowledge as written, flushed and applied. All three are the same, for nothing is written here;
// none may be zero, which servers and libraries read as "as above".
func (p progress) status() LSN { return max(p.applied, 1) }
