// Package xpath evaluates XPath 1.0 on the trees of package xml. Work is counted while it goes on, because a short
// expression can take for ever, and node-sets are in document order.
package xpath
