// Package grep holds grep, rg and fd. [Programs] is its table.
package grep

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"bzcmp":    {Run: zdiff, Does: "compare bzip2 files byte by byte"},
	"bzdiff":   {Run: zdiff, Does: "compare bzip2 files line by line"},
	"bzegrep":  {Run: zgrep, Does: "egrep in bzip2 files"},
	"bzfgrep":  {Run: zgrep, Does: "fgrep in bzip2 files"},
	"bzgrep":   {Run: zgrep, Does: "grep in bzip2 files"},
	"egrep":    {Run: egrep, Does: "grep -E"},
	"fd":       {Run: fd, Does: "find files by pattern"},
	"fdfind":   {Run: fd, Does: "find files by pattern"},
	"fgrep":    {Run: fgrep, Does: "grep -F"},
	"grep":     {Run: grep, Does: "print the lines that match a pattern"},
	"rg":       {Run: rgMain, Does: "search trees for a pattern"},
	"rgrep":    {Run: rgrep, Does: "grep -r"},
	"xzcmp":    {Run: zdiff, Does: "compare xz files byte by byte"},
	"xzdiff":   {Run: zdiff, Does: "compare xz files line by line"},
	"xzegrep":  {Run: zgrep, Does: "egrep in xz files"},
	"xzfgrep":  {Run: zgrep, Does: "fgrep in xz files"},
	"xzgrep":   {Run: zgrep, Does: "grep in xz files"},
	"zcmp":     {Run: zdiff, Does: "compare gzip files byte by byte"},
	"zdiff":    {Run: zdiff, Does: "compare gzip files line by line"},
	"zegrep":   {Run: zgrep, Does: "egrep in gzip files"},
	"zfgrep":   {Run: zgrep, Does: "fgrep in gzip files"},
	"zgrep":    {Run: zgrep, Does: "grep in gzip files"},
	"zstdgrep": {Run: zgrep, Does: "grep in zstd files"},
}
