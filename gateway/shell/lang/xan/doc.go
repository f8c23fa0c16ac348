// Package xan evaluates the expressions of xan's filter, map, agg and groupby on rows of a table.
//
//	e, err := xan.Compile(`age > 30 and upper(name)`, headers)
//	v, err := e.Eval(row, index)
//
// Values are strings, float64, bool or nil. A bare word is the column of that name; text is a number
// wherever a number is wanted. Aggregations ([CompileAggregations]) are calls of count, sum, mean and so
// on, each with an optional name: `count() as n, mean(age)`.
package xan
