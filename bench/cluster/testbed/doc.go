// Package testbed runs a whole installation on loopback, as real processes: a PostgreSQL primary with a synchronous
// streaming standby, PgBouncer in transaction pooling, Redis, and gateways.
//
//	clients → gateway 1 → Postgres                     statements prepared
//	clients → gateway 2 → PgBouncer → Postgres         types cached (cache_describe)
//	clients → gateway 3 → PgBouncer → Postgres         neither (exec)
//	          each gateway's listener → Postgres       never through PgBouncer
//	          each gateway → Redis
//	          standby → primary
//
// Every arrow is a link.Link, so that each can be cut, frozen or delayed by itself, and led elsewhere: after Failover
// the links to Postgres lead to what was the standby.
//
// The standby is synchronous (synchronous_commit = on): what was acknowledged is on both, so a failover loses nothing
// that anybody was told. Without that a failover would lose the standby's lag, and no check could tell this from a
// fault.
//
// Nothing here runs as root: for root, Postgres and PgBouncer run as the user postgres.
package testbed
