// Package sum holds checksums and digests. [Programs] is its table.
package sum

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"b2sum":     {Run: b2sum, Does: "BLAKE2b checksums: print or check"},
	"cksum":     {Run: cksum, Does: "CRC and other checksums: print or check"},
	"md5sum":    {Run: md5sum, Does: "MD5 checksums: print or check"},
	"sha1sum":   {Run: sha1sum, Does: "SHA-1 checksums: print or check"},
	"sha224sum": {Run: sha224sum, Does: "SHA-224 checksums: print or check"},
	"sha256sum": {Run: sha256sum, Does: "SHA-256 checksums: print or check"},
	"sha384sum": {Run: sha384sum, Does: "SHA-384 checksums: print or check"},
	"sha512sum": {Run: sha512sum, Does: "SHA-512 checksums: print or check"},
	"shasum":    {Run: shasum, Does: "print or check SHA checksums"},
	"sum":       {Run: sumCommand, Does: "BSD and System V checksums"},
}
