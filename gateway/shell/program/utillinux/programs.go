// Package utillinux holds util-linux, bsdextrautils, parallel and terminals. [Programs] is its table.
package utillinux

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"cal":         {Run: cal, Does: "print a calendar"},
	"clear":       {Run: clearCommand, Does: "print what clears a terminal"},
	"col":         {Run: col, Does: "filter reverse line feeds out"},
	"colrm":       {Run: colrm, Does: "remove columns from lines"},
	"column":      {Run: column, Does: "lay out lines in columns"},
	"fallocate":   {Run: fallocate, Does: "make room for a file"},
	"file-rename": {Run: rename, Does: "rename files with an expression"},
	"flock": {Run: flock, Does: "run a program under a lock of a file",
		Differ: "locks hold between the processes of one exec, which is alone in its sandbox"},
	"getopt":  {Run: getoptMain, Does: "parse command options"},
	"ionice":  {Run: ionice, Does: "run a program with another class of input and output", Differ: "there is one class"},
	"look":    {Run: look, Does: "print the lines that begin with a string"},
	"lscpu":   {Run: lscpu, Does: "the processors", Differ: "the values of the sandbox"},
	"mcookie": {Run: mcookie, Does: "make a random cookie"},
	"mountpoint": {Run: mountpoint, Does: "check whether a directory is a mount point",
		Differ: "the root is the only one"},
	"namei": {Run: namei, Does: "follow a name to its end"},
	"parallel": {Run: parallel, Does: "run commands for many arguments",
		Differ: "at most 32 jobs at once, output in groups only; a few Perl expressions only; no remote hosts"},
	"prename": {Run: rename, Does: "rename files with an expression"},
	"rename":  {Run: rename, Does: "rename files by expression or replacement"},
	"reset":   {Run: reset, Does: "initialise a terminal", Differ: "fails: there is none"},
	"rev":     {Run: rev, Does: "reverse the characters of lines"},
	"setsid": {Run: setsid, Does: "run a program in a new session",
		Differ: "there are no sessions; -f does not go on after the exec"},
	"stty":      {Run: stty, Does: "settings of a terminal", Differ: "fails: there is none"},
	"taskset":   {Run: taskset, Does: "run a program on some processors", Differ: "there is one processor"},
	"tput":      {Run: tput, Does: "print capabilities of a terminal", Differ: "the common terminals and capabilities"},
	"ul":        {Run: ul, Does: "underline for the terminal"},
	"uuidgen":   {Run: uuidgen, Does: "make a UUID"},
	"uuidparse": {Run: uuidparse, Does: "tell UUIDs apart"},
	"whereis":   {Run: whereis, Does: "where programs and manuals are found"},
}
