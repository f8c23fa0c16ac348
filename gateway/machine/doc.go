// Package machine runs WebAssembly programs in processes of their own, which can do nothing but compute.
//
// A machine is this same executable, started to run one program ([Work]): it reads the compiled program, confines
// itself to one connection (no files, no sockets, no processes: package confine) and then takes jobs. What a job does
// to the outside it asks for through that connection (package wasi). So whatever becomes of a program, or of the
// compiler under it, is the end of one process.
//
// The gateway cannot start processes, because it has confined itself, too. It asks a nurse for them ([Nurse]), a
// process that is started before that and can do nothing but start machines, hand their connections over and kill them.
//
// A [Pool] keeps machines that wait, because starting one takes longer than most scripts. A machine is used again, but
// only for the same owner: what one owner's program may have done to it harms no other. Places are limited and given in
// turn, to the owner that has the fewest.
package machine
