// Package load is the clients of a check: many of them change and look at the same few sandboxes, over every replica
// and in SQL, and write down what they were told. What a sandbox's clients wrote down is checked by package history
// when the sandbox has seen enough.
package load
