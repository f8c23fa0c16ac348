package extra

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var fileSpec = getopt.New("bcCdEe:f:F:hikLlm:nNpP:rsSvzZ0",
	"brief=b checking-printout=c separator:=F files-from:=f no-dereference=h mime=i mime-type mime-encoding extension apple keep-going=k "+
		"dereference=L magic-file:=m no-buffer=n no-pad=N print0=0 preserve-date=p raw=r special-files=s uncompress=z exclude:=e exclude-quiet:").
	WithUsage("[OPTION...] [FILE...]", "Determine type of FILEs.").WithVersion("5.44 (compatible)")

// fileKind is what is known about a file's content.
type fileKind struct {
	text    string // in words
	mime    string
	charset string
}

// fileHead is how much of a file is looked at.
const fileHead = 1 << 20

func fileMain(_ context.Context, p *proc.Process) int {
	opts, args := fileSpec.Parse(p)
	sep, mode := ":", ""
	var brief, follow, noPad bool
	nuls := 0
	for _, o := range opts {
		switch o.Key {
		case "b":
			brief = true
		case "i":
			mode = "mime"
		case "mime-type", "mime-encoding", "extension":
			mode = o.Key
		case "L":
			follow = true
		case "h":
			follow = false
		case "N":
			noPad = true
		case "0":
			nuls++
		case "F":
			sep = o.Value
		case "f":
			data, err := p.ReadFile(o.Value)
			if err != nil {
				p.Errorf("Cannot open `%s' (%s)", o.Value, proc.Strerror(err))
				return 1
			}
			args = append(args, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
		case "v":
			p.Out.WriteString("file-5.44 (compatible)\n")
			return 0
		}
	}
	if len(args) == 0 {
		p.Err.WriteString("Usage: file [-bcCdEhikLlNnprsSvzZ0] [--apple] [--extension] [--mime-encoding]\n            [--mime-type] [-e <testname>] [-F <separator>]  [-f <namefile>]\n            [-m <magicfiles>] [-P <parameter=value>] [--exclude-quiet]\n            <file> ...\n       file -C [-m <magicfiles>]\n       file [--help]\n")
		return 1
	}
	width := 0
	for _, a := range args {
		width = max(width, runewidth.StringWidth(fileName(a)))
	}
	for _, name := range args {
		p.Tick(1)
		k := identify(p, name, follow)
		if !brief {
			shown := fileName(name)
			p.Out.WriteString(shown)
			if nuls > 0 {
				p.Out.WriteByte(0)
			}
			if nuls < 2 {
				gap := 1
				if !noPad {
					gap += width - runewidth.StringWidth(shown)
				}
				p.Out.WriteString(sep + strings.Repeat(" ", gap))
			}
		}
		switch mode {
		case "mime":
			p.Out.WriteString(k.mime)
			if k.charset != "" {
				p.Out.WriteString("; charset=" + k.charset)
			}
		case "mime-type":
			p.Out.WriteString(k.mime)
		case "mime-encoding":
			p.Out.WriteString(k.charset)
		case "extension":
			p.Out.WriteString(cmp.Or(fileExtensions[k.mime], "???"))
		default:
			p.Out.WriteString(k.text)
		}
		if nuls > 1 {
			p.Out.WriteByte(0)
		} else {
			p.Out.WriteByte('\n')
		}
	}
	return 0
}

// fileExtensions are the usual endings of a type's names (--extension).
var fileExtensions = map[string]string{
	"image/png": "png", "image/gif": "gif", "application/pdf": "pdf", "image/jpeg": "jpeg/jpg/jpe/jfif",
	"application/x-xz": "xz",
	"application/gzip": "gz/tgz/tpz/ipk/vbox-extpack/svgz/blend/dia/gnucash/rdata/xoj", "application/x-bzip2": "bz2",
	"application/zstd":  "zst",
	"application/x-tar": "tar/gtar", "application/vnd.sqlite3": "sqlite/sqlite3/db/db3/dbe/sdb/help",
	"audio/x-wav": "wav/wave",
	"image/webp":  "webp", "image/bmp": "bmp/ico", "image/svg+xml": "svg",
}

func fileName(name string) string {
	if name == "-" {
		return "/dev/stdin"
	}
	return strings.ReplaceAll(name, "\n", `\012`)
}

func binaryKind(text, mime string) fileKind {
	return fileKind{text: text, mime: mime, charset: "binary"}
}

func identify(p *proc.Process, name string, follow bool) fileKind {
	var st vfs.Stat
	var err error
	switch {
	case name == "-":
		head, err := io.ReadAll(io.LimitReader(p.Stdin, fileHead))
		if err != nil {
			return binaryKind("cannot read `/dev/stdin' ("+proc.Strerror(err)+")", "cannot read")
		}
		if len(head) == 0 {
			return binaryKind("empty", "inode/x-empty")
		}
		return classify(head, int64(len(head)))
	case follow:
		st, err = p.Stat(name)
	default:
		st, err = p.Lstat(name)
	}
	if err != nil {
		text := fmt.Sprintf("cannot open `%s' (%s)", name, proc.Strerror(err))
		return fileKind{text: text, mime: text}
	}
	special := ""
	if st.Mode&program.ModeSetuid != 0 {
		special += "setuid "
	}
	if st.Mode&program.ModeSetgid != 0 {
		special += "setgid "
	}
	if st.Mode&program.ModeSticky != 0 {
		special += "sticky "
	}
	switch st.Kind {
	case vfs.Dir:
		if special != "" {
			special = strings.TrimSuffix(special, " ") + ", "
		}
		return binaryKind(special+"directory", "inode/directory")
	case vfs.Char:
		return binaryKind(fmt.Sprintf("%scharacter special (%d/%d)", special, st.Rdev>>8, st.Rdev&0xff), "inode/chardevice")
	case vfs.FIFO:
		return binaryKind("fifo (named pipe)", "inode/fifo")
	case vfs.Symlink:
		target, _ := p.FS.Readlink(p.Abs(name))
		if _, err := p.Stat(name); err != nil {
			return binaryKind("broken symbolic link to "+target, "inode/symlink")
		}
		return binaryKind("symbolic link to "+target, "inode/symlink")
	}
	if st.Size == 0 {
		return binaryKind(special+"empty", "inode/x-empty")
	}
	f, err := p.Open(name, vfs.ReadOnly, 0)
	if err != nil {
		text := fmt.Sprintf("cannot open `%s' (%s)", name, proc.Strerror(err))
		return fileKind{text: text, mime: text}
	}
	defer f.Close()
	p.Hold(fileHead)
	defer p.Release(fileHead)
	head := make([]byte, min(st.Size, fileHead))
	n, _ := io.ReadFull(f, head) // what could be read decides
	k := classify(head[:n], st.Size)
	if special != "" {
		k.text = special + ", " + k.text
	}
	return k
}

func classify(b []byte, size int64) fileKind {
	if k, ok := magic(b, size); ok {
		return k
	}
	return classifyText(b)
}

func has(b []byte, at int, s string) bool { return len(b) >= at+len(s) && string(b[at:at+len(s)]) == s }

// magic knows the binary formats people meet.
func magic(b []byte, size int64) (fileKind, bool) {
	be16, be32, le16, le32 := binary.BigEndian.Uint16, binary.BigEndian.Uint32, binary.LittleEndian.Uint16,
		binary.LittleEndian.Uint32
	kind := func(text, mime string) (fileKind, bool) { return binaryKind(text, mime), true }
	switch {
	case has(b, 0, "\x7fELF") && len(b) >= 20:
		return elf(b), true
	case has(b, 0, "\x7fELF") && len(b) >= 8: // cut off
		class, endian := map[byte]string{1: " 32-bit", 2: " 64-bit"}[b[4]], map[byte]string{1: " LSB", 2: " MSB"}[b[5]]
		return kind("ELF"+class+endian+" (SYSV)", "application/octet-stream")
	case has(b, 0, "\x89PNG\r\n\x1a\n") && len(b) >= 29:
		color := map[byte]string{0: "grayscale", 2: "/color RGB", 3: " colormap", 4: "gray+alpha", 6: "/color RGBA"}[b[25]]
		if !strings.HasPrefix(color, "/") && !strings.HasPrefix(color, " ") {
			color = " " + color
		}
		interlace := "non-interlaced"
		if b[28] == 1 {
			interlace = "interlaced"
		}
		return kind(fmt.Sprintf("PNG image data, %d x %d, %d-bit%s, %s", be32(b[16:]), be32(b[20:]), b[24], color, interlace),
			"image/png")
	case has(b, 0, "dex\n") && len(b) >= 8 && b[7] == 0:
		return kind(fmt.Sprintf("Dalvik dex file version %s", b[4:7]), "application/octet-stream")
	case has(b, 0, "070701"):
		return kind("ASCII cpio archive (SVR4 with no CRC)", "application/x-cpio")
	case has(b, 0, "070702"):
		return kind("ASCII cpio archive (SVR4 with CRC)", "application/x-cpio")
	case has(b, 0, "070707"):
		return kind("ASCII cpio archive (pre-SVR4 or odc)", "application/x-cpio")
	case has(b, 0, "GIF8") && len(b) >= 10:
		return kind(fmt.Sprintf("GIF image data, version %s, %d x %d", b[3:6], le16(b[6:]), le16(b[8:])), "image/gif")
	case has(b, 0, "\xff\xd8\xff"):
		return kind("JPEG image data", "image/jpeg")
	case has(b, 0, "BM") && len(b) >= 30 && le32(b[14:]) == 40:
		return kind(fmt.Sprintf("PC bitmap, Windows 3.x format, %d x %d x %d", le32(b[18:]), le32(b[22:]), le16(b[28:])),
			"image/bmp")
	case has(b, 0, "RIFF") && has(b, 8, "WAVE"):
		return kind("RIFF (little-endian) data, WAVE audio", "audio/x-wav")
	case has(b, 0, "RIFF") && has(b, 8, "WEBP"):
		return kind("RIFF (little-endian) data, Web/P image", "image/webp")
	case has(b, 0, "%PDF-") && len(b) >= 8:
		return kind(fmt.Sprintf("PDF document, version %s", b[5:8]), "application/pdf")
	case has(b, 0, "\x1f\x8b") && len(b) >= 10:
		return gzipKind(b, size), true
	case has(b, 0, "BZh") && len(b) > 3:
		return kind(fmt.Sprintf("bzip2 compressed data, block size = %c00k", b[3]), "application/x-bzip2")
	case has(b, 0, "\xfd7zXZ\x00"):
		return kind("XZ compressed data, checksum CRC64", "application/x-xz")
	case has(b, 0, "\x28\xb5\x2f\xfd"):
		return kind("Zstandard compressed data (v0.8+), Dictionary ID: None", "application/zstd")
	case has(b, 0, "7z\xbc\xaf\x27\x1c"):
		return kind(fmt.Sprintf("7-zip archive data, version %d.%d", b[6], b[7]), "application/x-7z-compressed")
	case has(b, 0, "PK\x03\x04") && len(b) >= 30:
		return zipKind(b), true
	case has(b, 0, "PK\x05\x06"):
		return kind("Zip archive data (empty)", "application/zip")
	case has(b, 257, "ustar\x0000"):
		return kind("POSIX tar archive", "application/x-tar")
	case has(b, 257, "ustar  \x00"):
		return kind("POSIX tar archive (GNU)", "application/x-tar")
	case has(b, 0, "SQLite format 3\x00") && len(b) >= 100:
		return kind("SQLite 3.x database", "application/vnd.sqlite3")
	case has(b, 0, "\xca\xfe\xba\xbe") && len(b) >= 8 && be16(b[6:]) >= 45:
		return kind(fmt.Sprintf("compiled Java class data, version %d.%d", be16(b[6:]), be16(b[4:])),
			"application/x-java-applet")
	case has(b, 0, "\x00asm"):
		return kind(fmt.Sprintf("WebAssembly (wasm) binary module version 0x%x (MVP)", le32(b[4:])), "application/wasm")
	case has(b, 0, "!<arch>\n"):
		if has(b, 8, "debian") {
			return kind("Debian binary package (format 2.0)", "application/vnd.debian.binary-package")
		}
		return kind("current ar archive", "application/x-archive")
	case has(b, 0, "ID3"):
		return kind("Audio file with ID3 version 2."+fmt.Sprint(b[min(3, len(b)-1)])+".0", "audio/mpeg")
	case has(b, 0, "OggS"):
		return kind("Ogg data", "application/ogg")
	case has(b, 0, "fLaC"):
		return kind("FLAC audio bitstream data", "audio/flac")
	case has(b, 4, "ftyp"):
		return kind("ISO Media", "video/mp4")
	case has(b, 0, "MZ") && len(b) >= 64:
		return kind("MS-DOS executable", "application/x-dosexec")
	case has(b, 0, "PAR1"):
		return kind("Apache Parquet", "application/vnd.apache.parquet")
	case has(b, 0, "DIRC"):
		return kind("Git index", "application/octet-stream")
	}
	return fileKind{}, false
}

func elf(b []byte) fileKind {
	order, endian := binary.ByteOrder(binary.LittleEndian), "LSB"
	if b[5] == 2 {
		order, endian = binary.BigEndian, "MSB"
	}
	class := map[byte]string{1: "32-bit", 2: "64-bit"}[b[4]]
	kind, mime := "unknown type", "application/x-object"
	switch order.Uint16(b[16:]) {
	case 1:
		kind = "relocatable"
	case 2:
		kind, mime = "executable", "application/x-executable"
	case 3:
		kind, mime = "shared object", "application/x-sharedlib"
	case 4:
		kind, mime = "core file", "application/x-coredump"
	}
	machine := map[uint16]string{3: "Intel 80386", 40: "ARM", 62: "x86-64", 183: "ARM aarch64",
		243: "UCB RISC-V"}[order.Uint16(b[18:])]
	if machine == "" {
		machine = "unknown arch"
	}
	os := "SYSV"
	if b[7] == 3 {
		os = "GNU/Linux"
	}
	return binaryKind(fmt.Sprintf("ELF %s %s %s, %s, version 1 (%s)", class, endian, kind, machine, os), mime)
}

func gzipKind(b []byte, size int64) fileKind {
	text := "gzip compressed data"
	if b[3]&8 != 0 {
		if end := bytes.IndexByte(b[10:], 0); end >= 0 && b[3]&4 == 0 {
			text += `, was "` + string(b[10:10+end]) + `"`
		}
	}
	if t := binary.LittleEndian.Uint32(b[4:]); t != 0 {
		text += ", last modified: " + datetime.Format("%a %b %e %H:%M:%S %Y", time.Unix(int64(t), 0).UTC())
	}
	switch b[8] {
	case 2:
		text += ", max compression"
	case 4:
		text += ", max speed"
	}
	text += map[byte]string{0: ", from FAT filesystem (MS-DOS, OS/2, NT)", 3: ", from Unix",
		11: ", from NTFS filesystem (NT)"}[b[9]]
	if int64(len(b)) == size && size >= 18 {
		text += fmt.Sprintf(", original size modulo 2^32 %d", binary.LittleEndian.Uint32(b[size-4:]))
	}
	return binaryKind(text, "application/gzip")
}

func zipKind(b []byte) fileKind {
	nameLen := int(binary.LittleEndian.Uint16(b[26:]))
	name := string(b[30:min(30+nameLen, len(b))])
	body := b[30+min(nameLen, len(b)-30):]
	if name == "mimetype" && bytes.HasPrefix(body, []byte("application/vnd.oasis.opendocument")) {
		return binaryKind("OpenDocument", "application/vnd.oasis.opendocument")
	}
	if name == "mimetype" && bytes.HasPrefix(body, []byte("application/epub+zip")) {
		return binaryKind("EPUB document", "application/epub+zip")
	}
	switch {
	case name == "[Content_Types].xml" || name == "_rels/.rels":
		for marker, k := range map[string]fileKind{
			"word/": binaryKind("Microsoft Word 2007+",
				"application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
			"xl/": binaryKind("Microsoft Excel 2007+", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
			"ppt/": binaryKind("Microsoft PowerPoint 2007+",
				"application/vnd.openxmlformats-officedocument.presentationml.presentation"),
		} {
			if bytes.Contains(b, []byte(marker)) {
				return k
			}
		}
	case strings.HasPrefix(name, "META-INF/"):
		return binaryKind("Java archive data (JAR)", "application/java-archive")
	}
	version := binary.LittleEndian.Uint16(b[4:]) & 0xff
	method := map[uint16]string{0: "store", 8: "deflate", 12: "bzip2", 14: "lzma"}[binary.LittleEndian.Uint16(b[8:])]
	return binaryKind(fmt.Sprintf("Zip archive data, at least v%d.%d to extract, compression method=%s", version/10,
		version%10, method), "application/zip")
}

var (
	shebang      = regexp.MustCompile(`^#! ?[ \t]*(\S+)(?:[ \t]+([^\n]*))?`)
	cSource      = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*[<"]`)
	pythonSource = regexp.MustCompile(`(?m)^[ \t]{0,50}def [ \t]{0,50}[a-zA-Z]{1,100}[ \t]{0,50}\(([a-zA-Z]|[, \t]){1,255}\):$`)
	htmlText     = regexp.MustCompile(`(?i)^\s*<(!doctype html|html|head|title|body|script|style|h1)\b`)
)

// classifyText names the encoding and the language of text.
func classifyText(b []byte) fileKind {
	encoding, charset := encodingOf(b)
	if encoding == "" {
		return binaryKind("data", "application/octet-stream")
	}
	endings := lineEndings(b)
	k := fileKind{mime: "text/plain", charset: charset}
	trimmed := bytes.TrimSpace(b)
	switch {
	case bytes.HasPrefix(b, []byte("#!")):
		if m := shebang.FindSubmatch(b); m != nil {
			what, mime := script(string(m[1]), strings.TrimSpace(string(m[2])))
			switch what {
			case "Perl script":
				k.text = what + " text executable"
			case "Node.js script":
				k.text = what + " executable, " + encoding + " text" + endings
			default:
				k.text = what + ", " + encoding + " text executable" + endings
			}
			k.mime = mime
			return k
		}
	case len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed):
		return fileKind{text: "JSON text data", mime: "application/json", charset: charset}
	case jsonLines(trimmed):
		return fileKind{text: "New Line Delimited JSON text data", mime: "application/x-ndjson", charset: charset}
	case bytes.HasPrefix(b, []byte("<?xml ")):
		version := "1.0"
		if m := regexp.MustCompile(`^<\?xml version=["']([\d.]+)["']`).FindSubmatch(b); m != nil {
			version = string(m[1])
		}
		what, mime := "XML "+version+" document", "text/xml"
		if bytes.Contains(b, []byte("<svg")) {
			what, mime = "SVG Scalable Vector Graphics image", "image/svg+xml"
			return fileKind{text: what, mime: mime, charset: charset}
		}
		return fileKind{text: what + ", " + encoding + " text" + endings, mime: mime, charset: charset}
	case bytes.HasPrefix(b, []byte("<svg")):
		return fileKind{text: "SVG Scalable Vector Graphics image", mime: "image/svg+xml", charset: charset}
	case htmlText.Match(b):
		k.text, k.mime = "HTML document, "+encoding+" text", "text/html"
	case bytes.HasPrefix(b, []byte("-----BEGIN CERTIFICATE-----")):
		k.text = "PEM certificate"
		return k
	case bytes.HasPrefix(b, []byte("-----BEGIN RSA PRIVATE KEY-----")):
		k.text = "PEM RSA private key"
		return k
	case bytes.HasPrefix(b, []byte("diff ")):
		k.text, k.mime = "diff output, "+encoding+" text", "text/x-diff"
	case bytes.HasPrefix(b, []byte("*** ")) && bytes.Contains(b, []byte("\n--- ")):
		k.text, k.mime = "context diff output, "+encoding+" text", "text/x-diff"
	case bytes.HasPrefix(b, []byte("--- ")) && bytes.Contains(b, []byte("\n+++ ")):
		k.text, k.mime = "unified diff output, "+encoding+" text", "text/x-diff"
	case cSource.Match(b):
		k.text, k.mime = "C source, "+encoding+" text", "text/x-c"
	case pythonSource.Match(b):
		k.text, k.mime = "Python script, "+encoding+" text executable", "text/x-script.python"
	case isCSV(b):
		k.text, k.mime = "CSV text", "text/csv"
	}
	if k.text == "" {
		k.text = encoding + " text"
	}
	k.text += endings
	return k
}

func script(interpreter, args string) (text, mime string) {
	name := path.Base(interpreter)
	if name == "env" {
		f := strings.Fields(args)
		for len(f) > 0 && (strings.HasPrefix(f[0], "-") || strings.Contains(f[0], "=")) {
			f = f[1:]
		}
		if len(f) > 0 {
			name = path.Base(f[0])
		}
	}
	switch {
	case name == "sh" || name == "dash":
		return "POSIX shell script", "text/x-shellscript"
	case name == "bash":
		return "Bourne-Again shell script", "text/x-shellscript"
	case name == "zsh":
		return "Paul Falstad's zsh script", "text/x-shellscript"
	case name == "ksh":
		return "Korn shell script", "text/x-shellscript"
	case strings.HasPrefix(name, "python"):
		return "Python script", "text/x-script.python"
	case strings.HasPrefix(name, "perl"):
		return "Perl script", "text/x-perl"
	case name == "ruby":
		return "Ruby script", "text/x-ruby"
	case name == "node" || name == "nodejs":
		return "Node.js script", "application/javascript"
	case name == "awk" || name == "gawk" || name == "mawk":
		return name + " script", "text/x-" + name
	case name == "php":
		return "PHP script", "text/x-php"
	}
	return "a " + strings.TrimSpace(interpreter+" "+args) + " script", "text/plain"
}

func jsonLines(b []byte) bool {
	n := 0
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] != '{' && line[0] != '[' || !json.Valid(line) {
			return false
		}
		if n++; n >= 10 {
			break
		}
	}
	return n > 1
}

// isCSV follows libmagic: at least two fields and two lines with the same number of fields.
func isCSV(b []byte) bool {
	fields, lines := 0, 0
	count, quoted := 1, false
	for _, c := range b {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			count++
		case c == '\n':
			if lines++; lines == 1 {
				if fields = count; fields < 2 {
					return false
				}
			} else if count != fields {
				return false
			}
			if lines == 10 {
				return true
			}
			count = 1
		}
	}
	return lines >= 2
}

func encodingOf(b []byte) (name, charset string) {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) && utf8.Valid(b):
		return "Unicode text, UTF-8 (with BOM)", "utf-8"
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return "Unicode text, UTF-16, little-endian", "utf-16le"
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "Unicode text, UTF-16, big-endian", "utf-16be"
	}
	ascii, latin, valid := true, true, true
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if c < ' ' && (c < '\a' || c > '\r') && c != 0x1b || c == 0x7f || c == '\v' {
				return "", "binary"
			}
			i++
			continue
		}
		ascii = false
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			if i+utf8.UTFMax > len(b) && len(b) == fileHead && !utf8.FullRune(b[i:]) {
				break
			}
			valid = false
			if c < 0xa0 && c != 0x85 {
				latin = false
			}
		} else {
			for _, c := range b[i : i+n] {
				if c < 0xa0 && c != 0x85 {
					latin = false
				}
			}
		}
		i += n
	}
	switch {
	case ascii:
		return "ASCII", "us-ascii"
	case valid:
		return "Unicode text, UTF-8", "utf-8"
	case latin:
		return "ISO-8859", "iso-8859-1"
	}
	return "Non-ISO extended-ASCII", "unknown-8bit"
}

func lineEndings(b []byte) string {
	crlf := bytes.Count(b, []byte("\r\n"))
	cr, lf := bytes.Count(b, []byte{'\r'})-crlf, bytes.Count(b, []byte{'\n'})-crlf
	long, start := 0, 0
	for i, c := range b {
		if c == '\n' {
			long, start = max(long, i-start), i+1
		}
	}
	long = max(long, len(b)-start)
	text := ""
	if long > 300 {
		text = fmt.Sprintf(", with very long lines (%d)", long)
	}
	var kinds []string
	if crlf > 0 {
		kinds = append(kinds, "CRLF")
	}
	if cr > 0 {
		kinds = append(kinds, "CR")
	}
	if lf > 0 {
		kinds = append(kinds, "LF")
	}
	switch {
	case len(kinds) == 0:
		text += ", with no line terminators"
	case len(kinds) > 1 || lf == 0:
		text += ", with " + strings.Join(kinds, ", ") + " line terminators"
	}
	if bytes.IndexByte(b, 0x1b) >= 0 {
		text += ", with escape sequences"
	}
	if bytes.IndexByte(b, '\b') >= 0 {
		text += ", with overstriking"
	}
	return text
}
