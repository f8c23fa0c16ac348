// Package arith parses and evaluates bash arithmetic: 64-bit integers that wrap, every C operator
// bash has, assignments, bases, array elements, and variables whose values are expressions themselves.
//
// The text it gets has had its parameter expansions and quotes removed already. Errors carry
// bash's wording, including the error token.
package arith
