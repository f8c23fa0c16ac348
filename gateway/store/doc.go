// Package store is the gateway's only way to Postgres: one method per fs.* function, over a pool of
// connections in the role pgbox_gateway, which may call those functions and nothing else.
//
// # Errors
//
// What a function raises in SQLSTATE class VF comes back as an error that carries the [vfs.Errno]. A database that
// cannot be reached or is going away is [ErrUnavailable], and nothing was applied. [ErrUnknown] comes from a commit
// only: the connection broke after the commit was sent, and Postgres could not be asked afterwards.
//
// [ErrLocked] is a row that another transaction held for too long; nothing was applied.
//
// # Transactions
//
// Every method is one round trip where its data allow it: one statement, or a batch that is one transaction. The
// statements that batches use are prepared when a connection is made. Two methods hold a transaction open for longer,
// and neither while user code runs: LoadLayers reads several layers in one snapshot, and CreateWith builds the first
// files of a sandbox that nobody knows yet.
//
// Statements that lock rows leave a quarter of the connections to readers. Whoever meets a lock that is held for long
// gives its connection back and waits with one of another quarter, so an open transaction in psql, whatever it holds,
// stops the writers of its sandboxes and nobody else.
//
// # Poolers and standbys
//
// The first connection tells whether a transaction pooler is in between: then no role is sent and no statement is
// prepared ([Auto]). Nothing here depends on the session: settings are of one transaction, there is no LISTEN, no
// advisory lock, no temporary table.
//
// With Config.ReplicaURL cold reads go to a streaming standby. It answers with exactly the version (and history:
// [Fence.ChangedAt]) that the primary's fence has named, or the primary is asked: after a short wait when the standby
// is behind, at once when it is gone, was promoted or cancelled the query, and then for a while without trying.
// Contents go by their hash and cannot be wrong, only missing.
package store
