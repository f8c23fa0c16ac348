// Package casetest reads and replays shell cases: scripts whose output and exit status were recorded from the real bash
// and the real tools.
//
// A file testdata/cases/*.cases holds many cases:
//
//	=== name of the case
//	--- script
//	printf 'b\na\n' | sort
//	--- file path/relative/to/cwd
//	content
//	--- stdin
//	text
//	--- stdout
//	a
//	b
//	--- stderr
//	--- exit 0
//
// file (repeatable), stdin and stderr are optional; stderr is compared only where it is present. Content
// lines that begin with "--- ", "=== " or a backslash before them are escaped by a backslash. A header ends in
// " (no newline)" when the content has no newline at its end, and in " (base64)" when it is not UTF-8 text.
//
// A case of a known difference also has the sections pgbox stdout, pgbox stderr and pgbox exit: what pgbox does
// instead. They are recorded from pgbox.
//
// Outputs are never typed: `go run ./gateway/shell/casetest/record FILE…` runs every script under the
// real bash and fills in stdout, stderr (where asked for) and exit; with -check it only compares.
package casetest
