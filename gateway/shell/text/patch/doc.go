// Package patch reads patches (unified, context and normal diffs, with git's extended headers) and finds
// where their hunks belong, with offsets and fuzz as GNU patch does.
//
// [NewReader] walks over a patch: [Reader.Next] finds the next file's part between whatever text
// surrounds it, [Reader.Hunk] reads its hunks one by one. [Locate] looks for a hunk in the lines of a file.
// Nothing here touches a file; package command does.
package patch
