// Package bc is the calculator language of GNU bc 1.07.1: a parser that makes a tree of each line, and an interpreter
// of the trees.
//
// Messages of GNU bc give the address in its byte code, so the parser counts the bytes that the code would have.
package bc
