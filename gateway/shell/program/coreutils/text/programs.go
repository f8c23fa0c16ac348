// Package text holds the tools of coreutils that read and write text. [Programs] is its table.
package text

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"base32":  {Run: base32Main, Does: "base32: encode or decode"},
	"base64":  {Run: base64Main, Does: "base64: encode or decode"},
	"basenc":  {Run: basenc, Does: "base16, base32, base64 and relatives: encode or decode"},
	"cat":     {Run: cat, Does: "concatenate files"},
	"comm":    {Run: comm, Does: "compare two sorted files line by line"},
	"csplit":  {Run: csplit, Does: "split a file at patterns"},
	"cut":     {Run: cut, Does: "print parts of lines"},
	"fmt":     {Run: fmtCommand, Does: "fill paragraphs"},
	"fold":    {Run: fold, Does: "wrap lines"},
	"hd":      {Run: hexdump, Does: "hexdump -C"},
	"head":    {Run: head, Does: "print the first lines or bytes"},
	"hexdump": {Run: hexdump, Does: "print files in hexadecimal and other forms"},
	"join":    {Run: join, Does: "join lines of two files on a field"},
	"nl":      {Run: nl, Does: "number lines"},
	"numfmt":  {Run: numfmt, Does: "convert numbers from and to human forms"},
	"od":      {Run: od, Does: "dump files in octal and other forms"},
	"paste":   {Run: paste, Does: "merge lines of files"},
	"pr":      {Run: pr, Does: "paginate files for printing"},
	"ptx":     {Run: ptx, Does: "print a permuted index of words"},
	"seq":     {Run: seq, Does: "print sequences of numbers"},
	"shuf":    {Run: shuf, Does: "shuffle lines"},
	"sort":    {Run: sortMain, Does: "sort lines", Differ: "-S and -T are accepted and ignored"},
	"split":   {Run: split, Does: "split a file into pieces"},
	"tac":     {Run: tac, Does: "print lines in reverse order"},
	"tail":    {Run: tail, Does: "print the last lines or bytes"},
	"tee":     {Run: tee, Does: "copy standard input to files"},
	"tr":      {Run: tr, Does: "translate or delete characters"},
	"tsort":   {Run: tsort, Does: "topological sort"},
	"uniq":    {Run: uniq, Does: "drop or count repeated lines"},
	"wc":      {Run: wc, Does: "count lines, words and bytes"},
}
