// Package file holds the tools of coreutils that work on files and directories. [Programs] is its table.
package file

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"basename":  {Run: basename, Does: "strip directory and suffix from names"},
	"chgrp":     {Run: chgrp, Does: "change the group of files"},
	"chmod":     {Run: chmod, Does: "change the mode of files"},
	"chown":     {Run: chown, Does: "change owner and group of files"},
	"cp":        {Run: cp, Does: "copy files and directories"},
	"dd":        {Run: dd, Does: "copy and convert by blocks"},
	"df":        {Run: df, Does: "report file system usage", Differ: "shows the sandbox's quota"},
	"dir":       {Run: dir, Does: "list directories in columns"},
	"dircolors": {Run: dircolors, Does: "print the setting of LS_COLORS", Differ: "-p prints no comments"},
	"dirname":   {Run: dirname, Does: "strip the last component of names"},
	"du":        {Run: du, Does: "estimate the space files take"},
	"install":   {Run: install, Does: "copy files and set their modes"},
	"link":      {Run: link, Does: "make a hard link"},
	"ln":        {Run: ln, Does: "make links"},
	"ls":        {Run: ls, Does: "list directories"},
	"mkdir":     {Run: mkdir, Does: "make directories"},
	"mkfifo":    {Run: mkfifo, Does: "make named pipes", Differ: "what is in a pipe ends with the script"},
	"mknod":     {Run: mknod, Does: "make special files", Differ: "devices are refused"},
	"mktemp":    {Run: mktemp, Does: "make temporary files and directories"},
	"mv":        {Run: mv, Does: "move or rename files"},
	"pathchk":   {Run: pathchk, Does: "check whether names are valid or portable"},
	"readlink":  {Run: readlink, Does: "print the target of symbolic links"},
	"realpath":  {Run: realpath, Does: "print resolved names"},
	"rm":        {Run: rm, Does: "remove files and directories"},
	"rmdir":     {Run: rmdir, Does: "remove empty directories"},
	"shred":     {Run: shred, Does: "overwrite files"},
	"stat":      {Run: statMain, Does: "print the status of files"},
	"sync":      {Run: syncCommand, Does: "write everything out", Differ: "nothing to do"},
	"touch":     {Run: touch, Does: "set times of files, or make them"},
	"tree":      {Run: tree, Does: "show a tree of directories"},
	"truncate":  {Run: truncate, Does: "set the size of files"},
	"unlink":    {Run: unlink, Does: "remove one name"},
	"vdir":      {Run: vdir, Does: "list directories in long form"},
}
