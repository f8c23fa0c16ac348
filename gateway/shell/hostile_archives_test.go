//go:build !race

package shell_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/text/archive"
)

// streams is n bytes of streams one after the other, each of which is zeros without end, compared with what it takes.
func streams(f archive.Format, size int) func(int) string {
	return func(n int) string {
		one := packed(f, size)
		return strings.Repeat(one, max(n/len(one), 1))
	}
}

// packed is so many zeros.
func packed(f archive.Format, n int) string { return packedOf(f, io.LimitReader(zeros{}, int64(n))) }

func packedOf(f archive.Format, data io.Reader) string {
	var b bytes.Buffer
	w, err := archive.NewWriter(f, &b, 0)
	if err != nil {
		panic(err)
	}
	if _, err := io.Copy(w, data); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// zstdRuns is one frame with a window of 64 MiB, whose blocks are 128 KiB of one byte each, in four bytes: 4 MiB are
// 128 GiB.
func zstdRuns(n int) string {
	const window = 16 << 3 // 2^(10+16) bytes
	head := "\x28\xb5\x2f\xfd\x00" + string([]byte{window})
	block := binary.LittleEndian.AppendUint32(nil, 128<<10<<3|1<<1)[:3]
	return head + strings.Repeat(string(block)+"a", max(n/4, 1))
}

// zstdWindow asks for a window of as many bytes as there are, and has nothing.
func zstdWindow(int) string { return "\x28\xb5\x2f\xfd\x00\xff\x01\x00\x00" }

// lzmaDictionary asks for a dictionary of 4 GiB and promises 8 EiB.
func lzmaDictionary(int) string {
	return "\x5d\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + strings.Repeat("\x00", 100)
}

// overlapping is a zip whose entries are all the same data, 1000 times as long as it is.
func overlapping(n int) string {
	data := packed(archive.Gzip, n/4*1000)
	data = data[10 : len(data)-8] // without gzip's frame
	size := uint32(n / 4 * 1000)  //nolint:gosec // of our own making
	local := []byte("PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x00\x00")
	local = binary.LittleEndian.AppendUint32(local, 0)
	local = binary.LittleEndian.AppendUint32(local, uint32(len(data)))
	local = binary.LittleEndian.AppendUint32(local, size)
	local = append(local, 0, 0, 0, 0)
	out := append(local, data...)
	start, entries := len(out), max(n/64, 1)
	for i := range entries {
		name := fmt.Sprintf("f%d", i)
		e := append([]byte("PK\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00\x00\x00\x00\x00"), 0, 0, 0, 0)
		e = binary.LittleEndian.AppendUint32(e, uint32(len(data)))
		e = binary.LittleEndian.AppendUint32(e, size)
		e = binary.LittleEndian.AppendUint16(e, uint16(len(name)))
		e = append(append(e, make([]byte, 16)...), name...)
		out = append(out, e...)
	}
	return string(out) + zipEnd(entries, start, len(out))
}

func zipEnd(entries, start, end int) string {
	b := []byte("PK\x05\x06\x00\x00\x00\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(min(entries, 65535)))
	b = binary.LittleEndian.AppendUint16(b, uint16(min(entries, 65535)))
	b = binary.LittleEndian.AppendUint32(b, uint32(end-start))
	b = binary.LittleEndian.AppendUint32(b, uint32(start))
	return string(append(b, 0, 0))
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// zipOf is a zip of one entry of 1000 times n bytes, and of as many empty ones as fit.
func zipOf(n int) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("large")
	if err != nil {
		panic(err)
	}
	if _, err := io.CopyN(w, zeros{}, int64(n)*500); err != nil {
		panic(err)
	}
	for i := range n / 200 {
		if _, err := z.Create(fmt.Sprintf("%d/a", i)); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// header is that of a file in a tar archive, with its checksum.
func header(name string, kind byte, size int, more func(h []byte)) string {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], fmt.Sprintf("0000644\x000001750\x000001750\x00%011o\x0014000000000\x00        %c", size, kind))
	copy(h[257:], "ustar\x0000")
	if more != nil {
		more(h)
	}
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00", sum))
	return string(h)
}

// blocks fills the last block up.
func blocks(s string) string { return s + strings.Repeat("\x00", -len(s)&511) }

// sparseMap is an archive of one sparse file of 8 EiB, in pieces of nothing whose map stands before its data, as pax
// has it.
func sparseMap(n int) string {
	pieces := max(n/20, 1)
	var m strings.Builder
	fmt.Fprintf(&m, "%d\n", pieces)
	for i := range pieces {
		fmt.Fprintf(&m, "%d\n0\n", int64(i)*1000)
	}
	records := ""
	for _, r := range [][2]string{{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", "giant"},
		{"GNU.sparse.realsize", "9223372036854775807"}} {
		records += fmt.Sprintf("%d %s=%s\n", len(r[0])+len(r[1])+5, r[0], r[1])
	}
	text := blocks(m.String())
	return header("x", 'x', len(records), nil) + blocks(records) + header("GNUSparseFile.0/giant", '0', len(text), nil) +
		text + strings.Repeat("\x00", 1024)
}

// oldSparse is the header of a sparse file of GNU's old format, of as many bytes as there may be, of which none are
// there.
func oldSparse(int) string {
	h := header("giant", 'S', 0, func(h []byte) {
		copy(h[257:], "ustar  \x00")
		copy(h[386:], "77777777777\x0000000000000\x00") // an empty piece at 8 GiB
		h[483] = 0x80                                   // base 256
		binary.BigEndian.PutUint64(h[487:], 1<<62)
	})
	return strings.Repeat(h, 100) + strings.Repeat("\x00", 1024)
}

// hostileArchives expand to much more than they are, or say that they do.
var hostileArchives = []attack{
	{"gzip of gigabytes", streams(archive.Gzip, 64<<20),
		"zcat in | wc -c; gzip -t in; gzip -l in; gunzip -c in > f; tar tzf in; file -z in; zgrep a in; rg -z a in", 16 << 20,
		true},
	{"gzip of gigabytes in one stream", func(n int) string { return packed(archive.Gzip, n*100) },
		"gzip -t in; zcat in > f", 0, true},
	{"gzip without anything", streams(archive.Gzip, 0), "gzip -t in; zcat in | wc -c", 0, true},
	{"gzip of gzip", func(n int) string {
		return packedOf(archive.Gzip, strings.NewReader(streams(archive.Gzip, 64<<20)(n*100)))
	}, "zcat in | zcat | wc -c", 1 << 20, true},
	{"bzip2 of gigabytes", streams(archive.Bzip2, 64<<20), "bzip2 -t in; bzcat in | wc -c; tar tjf in; bunzip2 -c in > f",
		0, true},
	{"bzip2 without anything", streams(archive.Bzip2, 0), "bzip2 -t in; bzcat in | wc -c", 0, true},
	{"xz of gigabytes", streams(archive.XZ, 64<<20), "xz -t in; xzcat in | wc -c; xz -l in; tar tJf in; unxz -c in > f", 0,
		true},
	{"xz without anything", streams(archive.XZ, 0), "xz -t in; xzcat in | wc -c; xz -l in", 0, true},
	{"zstd of gigabytes", zstdRuns, "zstd -t in; zstdcat in | wc -c; zstd -l in; tar tf in; unzstd -c in > f", 0, true},
	{"zstd without anything", streams(archive.Zstd, 0), "zstd -t in; zstdcat in | wc -c", 0, true},
	{"zstd's window", zstdWindow, "zstd -t in; zstdcat in; zstd -l in", 0, true},
	{"lzma's dictionary", lzmaDictionary, "lzma -t in; lzcat in; xz --format=lzma -dc in", 0, true},
	{"zip of overlapping entries", overlapping,
		"unzip -l in | tail -n 1; unzip -p in | wc -c; unzip -t in > f; unzip -qo in; zip -d in f1; zip -F in", 0, true},
	{"zip of a large entry", zipOf, "unzip -t in; unzip -qo in; unzip -p in | wc -c; zip -u in f; funzip < in", 1 << 20,
		true},
	{"tar of a sparse giant", oldSparse,
		"tar tvf in; tar xf in; ls -ls giant; tar xOf in | wc -c; tar cSf x giant; cp giant g; tar --delete -f in giant; cpio -it < in", 0, true},
	{"tar of a sparse map", sparseMap, "tar tvf in; tar xf in", 0, true},
	{"cpio of a giant", func(int) string { return "070701" + strings.Repeat("ffffffff", 13) + "x" },
		"cpio -it < in; cpio -id < in", 0, true},
}
