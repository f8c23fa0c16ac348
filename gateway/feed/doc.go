// Package feed keeps the cached trees current: it stands between a replication listener, which hears every commit, and
// the cache, whose trees it patches ([cache.Trees.Follow]). So a commit of another replica costs a reader here what it
// changed, and not a reload.
//
// # Modes
//
// CACHE_INVALIDATION says what keeps the cache right. "version": the fence at the entry of every exec, and a reload of
// trees that lack its version; nothing else. "replication": the same fence, and patches, so that the version is usually
// there already. "auto" is replication where the server allows it and version where it does not, with a warning that
// says what to change. The fence stays in every mode: correctness never depends on the listener, only cost does. The
// exception is asked for: a reader that states how old its tree may be (maxStalenessMs) is spared the fence while
// [Feed.Fresh] can prove that age.
//
// # One transaction
//
// Rows are collected by layer while a transaction arrives, only those of layers that a cached tree has on top, the last
// row of each key. At the commit each sandbox row of the transaction takes the rows of its top layer to the cache. More
// than [Config].MaxRows rows of one transaction are not kept; its sandboxes are dropped and loaded by the next who
// wants them. Everything that is not understood, a truncated table, a changed table and every new stream empty the
// cache.
//
// # News
//
// Who follows a sandbox ([Feed.Subscribe]) is told that there is something new, not what: it reads the journal from
// where it was. So a slow follower costs no memory, and following works in version mode too, by looking every
// [Config].Poll.
package feed
