// Package devdb runs a private PostgreSQL cluster as a child process: for tests
// and for `pgbox dev`.
//
// A cluster lives in one directory, which one process at a time may use (a lock
// file says so). [Start] makes it on first use, ends a server that a killed
// parent left behind, and starts a new one on a unix socket inside the
// directory, and on a loopback port when asked. The server is told to shut down when its parent
// dies, so that even a killed parent leaves nothing running. PostgreSQL refuses to run as root: when
// this process is root, the server runs as an unprivileged user.
//
// With [Config.Primary] a cluster is a streaming standby of another. [StartPooler] puts a PgBouncer in front of one.
package devdb
