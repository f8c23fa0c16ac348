// Command cluster runs pgbox as it is run in earnest, several gateways on a replicated database, and tries to break it.
//
//	go run ./bench/cluster                          the test bed: prints URLs and tokens, ^C ends it (make cluster)
//	go run ./bench/cluster check                    one minute of faults under load, then the verdict (make test-cluster)
//	go run ./bench/cluster check -duration 30m      longer
//	go run ./bench/cluster check -seed 7            what another run did; it prints its seed
//	go run ./bench/cluster append -each 1000        16 clients append to one file over all gateways, without faults
//
// What runs, and how it is connected, is the manual of package testbed; what clients do, of load; what is broken
// meanwhile, of nemesis; and what is checked, of history. Besides that, when all is whole again: every gateway becomes
// ready by itself, fs.fsck finds nothing in any sandbox, and what every gateway shows of each, its script and its
// listing, is what Postgres has.
//
// That a check passes says little as long as nobody has seen it fail. So it first runs gateways that are broken on
// purpose (broken.txt, changes of a few lines that are laid over the build) and fails when their fault is not found.
//
// The standby is synchronous, and a failover takes place only while it streams: what was acknowledged is never lost.
// What a reader saw may be lost in one case, which is Postgres': a backend that is ended while it waits for the standby
// leaves a commit that everybody can see and the standby does not have. So no backend is ended while it waits for that.
package main
