package grep

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// chooseEncoding is -E: a label of the web's encodings, "auto" or "none".
func (g *rgRun) chooseEncoding(label string) bool {
	g.raw, g.decode = false, nil
	switch label {
	case "auto":
		return true
	case "none":
		g.raw = true
		return true
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return false
	}
	if name, _ := htmlindex.Name(e); name != "utf-8" {
		g.decode = e
	}
	return true
}

// decoded returns data as UTF-8. A byte order mark of UTF-16 says what a file is, whatever -E says.
func (g *rgRun) decoded(data []byte) []byte {
	if g.raw {
		return data
	}
	e := g.decode
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		e = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		e = unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM)
	case e == nil:
		return data
	}
	r := transform.NewReader(bytes.NewReader(data), e.NewDecoder())
	out, err := g.p.ReadAll(r)
	if err != nil {
		return data // not an error of rg's: it shows what it cannot decode as it is
	}
	return out
}

// rgUnzip says which program -z runs for a suffix.
var rgUnzip = map[string]string{
	".gz": "gzip", ".tgz": "gzip", ".bz2": "bzip2", ".tbz2": "bzip2", ".xz": "xz", ".txz": "xz", ".lzma": "xz",
	".zst": "zstd", ".zstd": "zstd", ".z": "uncompress",
}

// read reads a file; with -z the content of one whose suffix says that it is compressed.
func (g *rgRun) read(name string) ([]byte, error) {
	program := rgUnzip[strings.ToLower(path.Ext(name))]
	if !g.unzip || program == "" {
		return g.p.ReadFile(name)
	}
	in, err := compressed(g.p, name)
	if err != nil {
		return nil, err
	}
	var data []byte
	if in != nil {
		data, err = g.p.ReadAll(in)
		if e := in.Close(); err == nil {
			err = e
		}
	}
	if in == nil || err != nil {
		g.failed = true
		if !g.noMessages {
			reason := "not in " + program + " format"
			if err != nil {
				reason = proc.Strerror(err)
			}
			g.p.Out.Flush()
			line := strings.Repeat("-", 79)
			fmt.Fprintf(g.p.Err, "%s: \n%s\n%s: %s: %s\n%s\n", name, line, program, name, reason, line)
		}
	}
	return data, nil
}
