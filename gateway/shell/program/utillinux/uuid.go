package utillinux

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

var (
	uuidgenSpec = getopt.New("rtn:N:msxhV",
		"random=r time=t namespace:=n name:=N md5=m sha1=s hex=x help version=V").WithUsage("[options]",
		"Create a new UUID value.").WithVersion("from util-linux 2.38.1")
	uuidparseSpec = getopt.New("Jno:rhV",
		"json=J noheadings=n output:=o raw=r help version=V").WithUsage("[options] <uuid ...>",
		"").WithVersion("from util-linux 2.38.1")
	mcookieSpec = getopt.New("f:m:vhV", "file:=f max-size:=m verbose=v help version=V").WithUsage("[options]",
		"Generate magic cookies for xauth.").WithVersion("from util-linux 2.38.1")
)

func uuidgen(_ context.Context, p *proc.Process) int {
	opts, _ := uuidgenSpec.Parse(p)
	kind := byte('r')
	var namespace, name string
	hasSpace, hasName, isHex := false, false, false
	for _, o := range opts {
		switch o.Key {
		case "r", "t", "m", "s":
			kind = o.Key[0]
		case "n":
			namespace, hasSpace = o.Value, true
		case "N":
			name, hasName = o.Value, true
		case "x":
			isHex = true
		case "h":
			p.Out.WriteString("\nUsage:\n uuidgen [options]\n\nCreate a new UUID value.\n\nOptions:\n -r, --random        generate random-based uuid\n -t, --time          generate time-based uuid\n" +
				" -n, --namespace ns  generate hash-based uuid in this namespace\n                       available namespaces: @dns @url @oid @x500\n -N, --name name     generate hash-based uuid from this name\n" +
				" -m, --md5           generate md5 hash\n -s, --sha1          generate sha1 hash\n -x, --hex           interpret name as hex string\n\n -h, --help          display this help\n -V, --version       display version\n\nFor more details see uuidgen(1).\n")
			return 0
		case "V":
			p.Out.WriteString("uuidgen from util-linux 2.38.1\n")
			return 0
		}
	}
	hashed := kind == 'm' || kind == 's'
	switch {
	case hasSpace && !hasName:
		uuidgenSpec.Fail(p, "--namespace requires --name argument")
	case hasName && !hasSpace:
		uuidgenSpec.Fail(p, "--name requires --namespace argument")
	case hasSpace && !hashed:
		uuidgenSpec.Fail(p, "--namespace requires --md5 or --sha1")
	case hashed && !hasSpace:
		uuidgenSpec.Fail(p, "--%s requires --namespace argument", map[byte]string{'m': "md5", 's': "sha1"}[kind])
	}
	var id uuid.UUID
	switch kind {
	case 'r':
		_, _ = rand.Read(id[:])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	case 't':
		// The clock in steps of 100 ns since 1582, and a random node, as RFC 4122 has it for machines without an address.
		t := uint64(p.Now().UnixNano()/100) + 0x01b21dd213814000
		_, _ = rand.Read(id[8:])
		id[0], id[1], id[2], id[3] = byte(t>>24), byte(t>>16), byte(t>>8), byte(t)
		id[4], id[5] = byte(t>>40), byte(t>>32)
		id[6], id[7] = byte(t>>56)&0x0f|0x10, byte(t>>48)
		id[8], id[10] = id[8]&0x3f|0x80, id[10]|1
	default:
		space, ok := map[string]uuid.UUID{"@dns": uuid.NameSpaceDNS, "@url": uuid.NameSpaceURL, "@oid": uuid.NameSpaceOID,
			"@x500": uuid.NameSpaceX500, "@x.500": uuid.NameSpaceX500}[namespace]
		if !ok {
			var err error
			if space, err = uuid.Parse(namespace); err != nil || len(namespace) != 36 {
				uuidgenSpec.Fail(p, "invalid uuid for namespace: '%s'", namespace)
			}
		}
		text := []byte(name)
		if isHex {
			var err error
			if text, err = hex.DecodeString(name); err != nil {
				uuidgenSpec.Fail(p, "not a valid hex string")
			}
		}
		h, version := md5.New(), byte(3)
		if kind == 's' {
			h, version = sha1.New(), 5
		}
		_, _ = h.Write(space[:])
		_, _ = h.Write(text)
		copy(id[:], h.Sum(nil))
		id[6], id[8] = id[6]&0x0f|version<<4, id[8]&0x3f|0x80
	}
	p.Out.WriteString(id.String() + "\n")
	return 0
}

func uuidparse(_ context.Context, p *proc.Process) int {
	opts, args := uuidparseSpec.Parse(p)
	heading, raw, asJSON := true, false, false
	names := []string{"UUID", "VARIANT", "TYPE", "TIME"}
	for _, o := range opts {
		switch o.Key {
		case "J":
			asJSON = true
		case "n":
			heading = false
		case "r":
			raw = true
		case "o":
			names = strings.Split(strings.ToUpper(o.Value), ",")
		case "V":
			p.Out.WriteString("uuidparse from util-linux 2.38.1\n")
			return 0
		}
	}
	if len(args) == 0 {
		data, err := p.ReadAll(p.Stdin)
		if err != nil {
			p.Errorf("%s", proc.Strerror(err))
			return 1
		}
		args = strings.Fields(string(data))
		p.Release(cap(data))
	}
	rows := [][]string{}
	for _, a := range args {
		p.Tick(1)
		f := map[string]string{"UUID": a, "VARIANT": "invalid", "TYPE": "invalid", "TIME": "invalid"}
		if id, err := uuid.Parse(a); err == nil && len(a) == 36 {
			f["VARIANT"], f["TYPE"], f["TIME"] = uuidKind(id)
		}
		var row []string
		for _, n := range names {
			if _, ok := f[n]; !ok {
				p.Errorf("unknown column: %s", strings.ToLower(n))
				return 1
			}
			row = append(row, f[n])
		}
		rows = append(rows, row)
	}
	if asJSON {
		p.Out.WriteString("{\n   \"uuids\": [\n")
		for n, row := range rows {
			if n == 0 {
				p.Out.WriteString("      {\n")
			}
			for k, v := range row {
				value := "\"" + v + "\""
				if v == "" {
					value = "null"
				}
				comma := ","
				if k == len(row)-1 {
					comma = ""
				}
				fmt.Fprintf(p.Out, "         \"%s\": %s%s\n", strings.ToLower(names[k]), value, comma)
			}
			if n < len(rows)-1 {
				p.Out.WriteString("      },{\n")
			} else {
				p.Out.WriteString("      }\n")
			}
		}
		p.Out.WriteString("   ]\n}\n")
		return 0
	}
	if heading {
		rows = append([][]string{names}, rows...)
	}
	widths := make([]int, len(names))
	for _, row := range rows {
		for k, v := range row {
			widths[k] = max(widths[k], len(v))
		}
	}
	for _, row := range rows {
		if raw {
			p.Out.WriteString(strings.Join(row, " ") + "\n")
			continue
		}
		for k, v := range row {
			if k == len(row)-1 {
				p.Out.WriteString(v + "\n")
			} else {
				fmt.Fprintf(p.Out, "%-*s ", max(widths[k], map[string]int{"UUID": 37, "VARIANT": 9, "TYPE": 10}[names[k]]), v)
			}
		}
	}
	return 0
}

func uuidKind(id uuid.UUID) (variant, kind, when string) {
	switch {
	case id == uuid.Nil:
		return "NCS", "nil", ""
	case id[8]&0x80 == 0:
		return "NCS", "", ""
	case id[8]&0xe0 == 0xc0:
		return "Microsoft", "", ""
	case id[8]&0xc0 != 0x80:
		return "other", "", ""
	}
	switch id[6] >> 4 {
	case 1:
		sec, nsec := id.Time().UnixTime()
		return "DCE", "time-based", datetime.Format("%Y-%m-%d %H:%M:%S", time.Unix(sec, 0).UTC()) +
			fmt.Sprintf(",%06d+00:00", nsec/1000)
	case 2:
		return "DCE", "DCE", ""
	case 3:
		return "DCE", "name-based", ""
	case 4:
		return "DCE", "random", ""
	case 5:
		return "DCE", "sha1-based", ""
	}
	return "DCE", "", ""
}

func mcookie(_ context.Context, p *proc.Process) int {
	opts, _ := mcookieSpec.Parse(p)
	h := md5.New()
	var verbose bool
	var files []string
	limit := int64(-1)
	for _, o := range opts {
		switch o.Key {
		case "f":
			files = append(files, o.Value)
		case "m":
			n, problem := program.ParseCount(o.Value, program.SizeSuffixes)
			if problem != program.NumberOK {
				p.Errorf("failed to parse length: '%s'", o.Value)
				return 1
			}
			limit = n
		case "v":
			verbose = true
		case "h":
			p.Out.WriteString("\nUsage:\n mcookie [options]\n\nGenerate magic cookies for xauth.\n")
			return 0
		case "V":
			p.Out.WriteString("mcookie from util-linux 2.38.1\n")
			return 0
		}
	}
	for _, name := range files {
		if err := program.WithInput(p, name, func(_ string, r io.Reader) error {
			if limit >= 0 {
				r = io.LimitReader(r, limit)
			}
			return program.ReadBlocks(p, r, func(b []byte) { _, _ = h.Write(b) })
		}); err != nil {
			p.Errorf("cannot open %s: %s", name, proc.Strerror(err))
		}
	}
	var noise [128]byte
	_, _ = rand.Read(noise[:])
	_, _ = h.Write(noise[:])
	if verbose {
		p.Err.WriteString("Got 128 bytes from getrandom() function\n")
	}
	p.Out.WriteString(hex.EncodeToString(h.Sum(nil)) + "\n")
	return 0
}
