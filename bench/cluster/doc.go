// Command cluster runs pgbox as it is run in earnest, several gateways on a replicated database, and tries to break it.
//
//	go run ./bench/cluster          the test bed: prints URLs and tokens, ^C ends it (make cluster)
//
// What runs, and how it is connected, is the manual of package testbed.
package main
