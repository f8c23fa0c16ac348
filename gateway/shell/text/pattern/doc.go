// Package pattern matches shell patterns (globs) as bash does: `*`, `?`, bracket
// expressions with ranges and named classes, backslash quoting, and, when asked for, the extended
// forms ?(…) *(…) +(…) @(…) !(…).
//
// Text is matched by character (UTF-8); a byte that is not part of valid UTF-8 counts as one character
// that equals only itself. Patterns match in time proportional to pattern × text and recurse over neither;
// those with several !(…) under way at once take the more time for it.
package pattern
