// Package archive holds tar, cpio, ar, zip and the compressors. [Programs] is its table.
package archive

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"ar":      {Run: ar, Does: "make, list and extract archives", Differ: "no thin archives and no index of symbols"},
	"bunzip2": {Run: bzip2Main, Does: "decompress bzip2 files"},
	"bzcat":   {Run: bzip2Main, Does: "decompress bzip2 files to standard output"},
	"bzip2":   {Run: bzip2Main, Does: "compress with bzip2"},
	"cpio": {Run: cpio, Does: "pack and unpack cpio archives",
		Differ: "no remote archives, no interactive renaming"},
	"funzip":     {Run: funzip, Does: "decompress the first member of a zip archive"},
	"gunzip":     {Run: gzipMain, Does: "decompress gzip files"},
	"gzip":       {Run: gzipMain, Does: "compress with gzip"},
	"lzcat":      {Run: xzMain, Does: "decompress lzma files to standard output"},
	"lzma":       {Run: xzMain, Does: "compress with lzma"},
	"tar":        {Run: tarMain, Does: "pack and unpack archives"},
	"uncompress": {Run: gzipMain, Does: "decompress files"},
	"unlzma":     {Run: xzMain, Does: "decompress lzma files"},
	"unxz":       {Run: xzMain, Does: "decompress xz files"},
	"unzip":      {Run: unzipMain, Does: "unpack zip archives"},
	"unzstd":     {Run: zstdMain, Does: "decompress zstd files"},
	"xz":         {Run: xzMain, Does: "compress with xz"},
	"xzcat":      {Run: xzMain, Does: "decompress xz files to standard output"},
	"zcat":       {Run: gzipMain, Does: "decompress gzip files to standard output"},
	"zip":        {Run: zipMain, Does: "pack zip archives"},
	"zipinfo":    {Run: unzipMain, Does: "list zip archives"},
	"zstd":       {Run: zstdMain, Does: "compress with zstd"},
	"zstdcat":    {Run: zstdMain, Does: "decompress zstd files to standard output"},
	"zstdmt":     {Run: zstdMain, Does: "compress with zstd"},
}
