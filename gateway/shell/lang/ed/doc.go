// Package ed is the line editor: GNU ed 1.19, with its extensions of POSIX, a [New] editor being [Editor.Run] over a
// script of lines.
//
// The buffer is a list of pointers to lines, so that marks, moves and undo cost no copy of the text. What ! runs is a
// command of the sandbox.
package ed
