// Package diff finds the differences between two sequences of lines: the
// bidirectional O(ND) search of Myers ("An O(ND) Difference Algorithm and Its
// Variations", 1986), bounded in cost, after lines that cannot match have been set
// aside, and followed by a pass that slides changes so that they merge. These are the steps of
// GNU diff, so that hunks come out where people expect them.
package diff
