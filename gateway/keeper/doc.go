// Package keeper lets a listening socket outlive the server behind it.
//
// A parent ([Run]) opens the sockets and starts the server, a process of the same program, which inherits them
// ([Inherit]) and accepts and answers by itself: no byte of a request passes through the parent. When the server dies,
// by a signal, a stack overflow or for want of memory, the parent starts another one. Meanwhile new connections wait in
// the queue of the socket, which was never closed.
//
// Requests that were under way get an answer, too. With the first request of a connection the server passes a duplicate
// of it to the parent, and for each connection there is a word in memory that both share: nothing is being done, a
// request is being read, is being handled (it only reads; it carries an Idempotency-Key; it may change something), its
// answer has begun. Keeping that word costs a store and no system call. After a crash the parent answers 503 on the
// connections whose answer had not begun: applied "no" where nothing can have been changed, "unknown" otherwise;
// retryable where sending the request again cannot apply it twice. Where the answer had begun, the connection is
// closed.
//
// A server that does not get as far as serving at its first start ends the parent, with its status; one that dies again
// and again is started after longer and longer breaks. When the parent dies, the kernel kills the server. As process 1
// of a container the parent reaps what is left to it.
package keeper
