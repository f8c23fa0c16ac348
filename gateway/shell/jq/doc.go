// Package jq is the jq language over JSON values that keep the order of their keys.
//
// The text is parsed by github.com/itchyny/gojq; the evaluation is our own, because
// gojq sorts the keys of objects and words its errors differently. Values are
// nil, bool, float64, string, [*Array] and [*Object]; they are immutable, and appending to an array
// or adding a key to an object shares what was there, so that building one in a
// reduce costs linear time.
//
// The behaviour is that of jq 1.6, plus the functions of 1.7.
package jq
