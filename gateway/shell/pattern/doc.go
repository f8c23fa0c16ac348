// Package pattern matches shell patterns (globs) as bash does: `*`, `?`, bracket
// expressions with ranges and named classes, backslash quoting, and, when asked for, the extended
// forms ?(…) *(…) +(…) @(…) !(…).
//
// Text is matched by character (UTF-8); a byte that is not part of valid UTF-8 counts as one character
// that equals only itself. Patterns without extended forms match in time proportional to pattern × text;
// the extended ones backtrack under a cap on the work done.
package pattern
