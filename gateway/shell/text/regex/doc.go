// Package regex matches the regular expressions of grep, sed, awk, expr, find
// and bash's =~ the way GNU's tools do: POSIX basic and extended syntax with
// the GNU extensions, and Perl syntax for grep -P.
//
//	re, err := regex.Compile(`\(foo\)*bar`, regex.Options{})            // basic
//	re, err := regex.Compile(`(foo)*bar`, regex.Options{Extended: true}) // extended
//	re.SetTick(p.Tick)                // lets a long match be cancelled
//	if re.Match(line) { … }
//	loc := re.FindSubmatchIndex(line, 0)
//
// Errors are [*Error]; their texts are GNU's ("Unmatched ( or \\(").
//
// # Semantics
//
// The match is the leftmost one and of those the longest. Among the ways to
// split that match over the groups, the one that a backtracking search would find
// first is taken, which is what glibc does (and POSIX does not ask for).
// Text is UTF-8: a byte that is not part of a valid character matches nothing but itself.
// With [Options.Bytes] (the C locale) every byte is a character.
//
// Matches are searched in b[start:], but the text before start counts as
// context: ^ matches at 0 only, and \b looks at b[start-1]. So a caller that
// replaces all matches passes the same b with growing start.
//
// # How it works
//
// The pattern is parsed into a tree, and the tree compiled into a byte-level
// automaton. A lazily built DFA with a bounded cache answers "is there a
// match" and "where does it end"; literals that every match must contain are searched
// first. Groups are found by backtracking inside the known bounds, with
// a memo that keeps it linear. Patterns with back-references are matched by
// backtracking over all paths, which can be exponential: that is what the tick is for.
// A [Regexp] holds its DFA cache and is therefore not safe for concurrent use.
package regex
