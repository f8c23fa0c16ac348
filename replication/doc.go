// Package replication follows the changes of a PostgreSQL database through logical replication: it hands every
// committed transaction, row by row, to a [Handler], and knows up to which position of the write-ahead log everything
// has been handed over.
//
// # One stream
//
// [Listener.Run] connects (directly, not through a pooler), runs the [Preflight], creates a temporary slot with the
// plugin pgoutput and streams from it. A temporary slot goes away with its connection, so nothing is left behind that
// could hold back the server's log. Whatever ends the stream (the server restarts or fails over, the slot is lost to
// max_slot_wal_keep_size, a message cannot be understood), the next one begins with [Handler.Reset]: changes between
// the two streams are not heard, so what was learned from the old stream is void. That makes resuming, and with it a
// durable slot, unnecessary.
//
// What is loaded from the database after Reset was called is complete together with the stream: the slot exists by
// then, so every transaction that such a load does not see is still to come.
//
// # Positions
//
// A position ([LSN]) is a place in the log. [Listener.Applied] is the one before which every commit has been handed
// over, and [Listener.WaitFor] waits for it to reach another: pg_current_wal_flush_lsn(), read after a commit, is such
// a position. Only positions tell how current a follower is; clocks of two machines do not. [Listener.Fresh] answers
// the question in time all the same, with one clock: a barrier reads that position now and then, and once it is reached
// the follower is known to have everything that was committed before the barrier began.
//
// The listener acknowledges what was applied, always the end of a commit or, between transactions, what the server says
// it has sent (see progress). An idle walsender sends nothing for half of wal_sender_timeout; who waits asks for a
// keepalive.
//
// # Failures
//
// [Finding]: a precondition is missing. Each says what to run; the listener looks again every minute. Everything else
// is retried with back-off and jitter. Creating a slot waits for every transaction that is open at that moment, so it
// has a lock_timeout.
//
// Sources: PostgreSQL documentation, chapters "Streaming Replication Protocol", "Logical Streaming Replication
// Protocol" and "Logical Replication Message Formats".
package replication
