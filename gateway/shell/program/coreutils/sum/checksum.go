package sum

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/digest"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const checksumLongs = "binary=b check=c ignore-missing quiet status strict tag text=t warn=w zero=z"

var (
	checksumSpec = getopt.New("bctwz", checksumLongs).
			WithUsage("[OPTION]... [FILE]...", "Print or check checksums.")
	b2sumSpec = getopt.New("bctwzl:", checksumLongs+" length:=l").
			WithUsage("[OPTION]... [FILE]...", "Print or check BLAKE2b (512-bit) checksums.")
)

// algorithm is one of the checksum commands.
type algorithm struct {
	tag  string
	bits int
	make func(bits int) hash.Hash
}

func fixed(f func() hash.Hash) func(int) hash.Hash { return func(int) hash.Hash { return f() } }

func checksum(d algorithm) proc.Func {
	return func(_ context.Context, p *proc.Process) int { return d.run(p) }
}

var (
	md5Digest    = algorithm{"MD5", 128, fixed(md5.New)}
	sha1Digest   = algorithm{"SHA1", 160, fixed(sha1.New)}
	sha224Digest = algorithm{"SHA224", 224, fixed(sha256.New224)}
	sha256Digest = algorithm{"SHA256", 256, fixed(sha256.New)}
	sha384Digest = algorithm{"SHA384", 384, fixed(sha512.New384)}
	sha512Digest = algorithm{"SHA512", 512, fixed(sha512.New)}
	blakeDigest  = algorithm{"BLAKE2b", 512, digest.NewBlake2b}
	sm3Digest    = algorithm{"SM3", 256, fixed(digest.NewSM3)}

	md5sum    = checksum(md5Digest)
	sha1sum   = checksum(sha1Digest)
	sha224sum = checksum(sha224Digest)
	sha256sum = checksum(sha256Digest)
	sha384sum = checksum(sha384Digest)
	sha512sum = checksum(sha512Digest)
	b2sum     = checksum(blakeDigest)
)

type checksumRun struct {
	algorithm
	p                                                *proc.Process
	binary, tagged                                   bool
	ignoreMissing, quiet, silent, strict, warn, zero bool
	kind                                             string // what messages call the checksums, the tag unless set
	byLength                                         bool   // the length of each sum says which SHA it is
	auto                                             bool   // cksum -c: the tag of each line says which algorithm
}

// checking sets an option that means something with -c only, and returns its long name.
func (c *checksumRun) checking(key string) string {
	switch key {
	case "ignore-missing":
		c.ignoreMissing = true
	case "quiet":
		c.quiet, c.silent, c.warn = true, false, false
	case "status":
		c.silent, c.quiet, c.warn = true, false, false
	case "strict":
		c.strict = true
	case "w":
		c.warn, c.silent, c.quiet = true, false, false
		return "warn"
	}
	return key
}

func (d algorithm) run(p *proc.Process) int {
	spec := checksumSpec
	if d.tag == "BLAKE2b" {
		spec = b2sumSpec
	}
	opts, args := spec.Parse(p)
	c := &checksumRun{algorithm: d, p: p}
	var check bool
	mode := ""
	var checkOnly string
	for _, o := range opts {
		switch o.Key {
		case "b":
			c.binary, mode = true, "binary"
		case "t":
			c.binary, mode = false, "text"
		case "c":
			check = true
		case "l":
			if n := digestLength(p, o.Value); n > 0 {
				c.bits = n
			}
		case "tag":
			c.tagged = true
		case "z":
			c.zero = true
		default:
			checkOnly = c.checking(o.Key)
		}
	}
	switch {
	case c.tagged && mode == "text":
		spec.Fail(p, "--tag does not support --text mode")
	case c.zero && check:
		spec.Fail(p, "the --zero option is not supported when verifying checksums")
	case c.tagged && check:
		spec.Fail(p, "the --tag option is meaningless when verifying checksums")
	case mode != "" && check:
		spec.Fail(p, "the --binary and --text options are meaningless when verifying checksums")
	case checkOnly != "" && !check:
		spec.Fail(p, "the --%s option is meaningful only when verifying checksums", checkOnly)
	}
	return c.files(args, check)
}

func (c *checksumRun) files(args []string, check bool) int {
	p := c.p
	if len(args) == 0 {
		args = []string{"-"}
	}
	status := 0
	for _, name := range args {
		if check {
			if !c.check(name) {
				status = 1
			}
			continue
		}
		sum, err := c.sum(name, c.bits)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			status = 1
			continue
		}
		c.print(name, sum)
	}
	return status
}

// digestLength reads the argument of --length.
func digestLength(p *proc.Process, s string) int {
	n, problem := program.ParseCount(s, "")
	why := ""
	switch {
	case problem == program.NumberInvalid:
	case n > 512:
		why = fmt.Sprintf("maximum digest length for %s is %d bits", program.Quote("BLAKE2b"), 512)
	case n%8 != 0:
		why = "length is not a multiple of 8"
	default:
		return int(n)
	}
	p.Errorf("invalid length: %s", program.Quote(s))
	if why != "" {
		p.Errorf("%s", why)
	}
	p.Exit(1)
	return 0
}

func (c *checksumRun) sum(name string, bits int) (string, error) {
	h := c.make(bits)
	err := program.WithInput(c.p, name, func(_ string, r io.Reader) error {
		return program.ReadBlocks(c.p, r, func(b []byte) { _, _ = h.Write(b) })
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

func (c *checksumRun) print(name, sum string) {
	end, shown, escape := "\n", name, ""
	if c.zero {
		end = "\x00"
	} else if strings.ContainsAny(name, "\\\n\r") {
		escape = `\`
		shown = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
	}
	out := c.p.Out
	if c.tagged {
		tag := c.tag
		if c.bits != c.algorithm.bits || c.algorithm.tag == "BLAKE2b" && c.bits != 512 {
			tag = fmt.Sprintf("%s-%d", c.tag, c.bits)
		}
		out.WriteString(escape + tag + " (" + shown + ") = " + sum + end)
		return
	}
	kind := " "
	if c.binary {
		kind = "*"
	}
	out.WriteString(escape + sum + " " + kind + shown + end)
}

var taggedLine = regexp.MustCompile(`^(\\?)([A-Za-z0-9]+)(?:-(\d+))? ?\((.*)\) ?= ?([0-9a-fA-F]+)$`)

// parse reads a line of a checksum file.
func (c *checksumRun) parse(line string) (name, sum string, bits int, ok bool) {
	line = strings.TrimLeft(line, " \t")
	if c.auto {
		m := taggedLine.FindStringSubmatch(line)
		if m == nil {
			return "", "", 0, false
		}
		d, ok := digestByTag(m[2])
		if !ok {
			return "", "", 0, false
		}
		c.algorithm = d
	}
	if c.byLength {
		n := strings.IndexFunc(strings.TrimPrefix(line, `\`), func(r rune) bool {
			return r > 0x7f || !program.IsHex(byte(r))
		})
		for _, d := range shasumDigests {
			if d.bits == 4*n && !strings.Contains(d.tag, "/") {
				c.algorithm = d
			}
		}
	}
	bits = c.bits
	if m := taggedLine.FindStringSubmatch(line); m != nil && m[2] == c.tag {
		if m[3] != "" {
			_, _ = fmt.Sscan(m[3], &bits)
		}
		name, sum = m[4], m[5]
		line = m[1]
	} else {
		escaped := strings.HasPrefix(line, `\`)
		body := strings.TrimPrefix(line, `\`)
		n := 0
		for n < len(body) && program.IsHex(body[n]) {
			n++
		}
		if n+2 >= len(body) || body[n] != ' ' && body[n] != '\t' {
			return "", "", 0, false
		}
		sum, name = body[:n], body[n+1:]
		if name[0] == ' ' || name[0] == '*' {
			name = name[1:]
		}
		if c.tag == "BLAKE2b" {
			bits = n * 4
		}
		line = ""
		if escaped {
			line = `\`
		}
	}
	if bits < 8 || bits > 512 || bits%8 != 0 || len(sum) != bits/4 || name == "" {
		return "", "", 0, false
	}
	if line == `\` {
		name = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\r`, "\r").Replace(name)
	}
	return name, strings.ToLower(sum), bits, true
}

func (c *checksumRun) check(list string) bool {
	p := c.p
	shownList := list
	if list == "-" {
		shownList = "standard input"
	}
	tag, proper := c.tag, "checksum"
	if c.kind != "" {
		tag, proper = c.kind, c.kind+" checksum"
	}
	var lineNo, good, bad, unread, mismatch, matched int
	err := program.WithInput(p, list, func(_ string, r io.Reader) error {
		l := program.NewLineReader(p, r, '\n')
		defer l.Close()
		for raw, more := l.Next(); more; raw, more = l.Next() {
			lineNo++
			line := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
			if strings.HasPrefix(line, "#") || line == "" {
				continue
			}
			name, want, bits, ok := c.parse(line)
			if list == "-" && name == "-" { // standard input is the list
				ok = false
			}
			if !ok {
				bad++
				if c.warn {
					p.Errorf("%s: %d: improperly formatted %s checksum line", program.QuoteColon(shownList), lineNo, tag)
				}
				continue
			}
			good++
			shown := name
			if strings.Contains(name, "\n") {
				shown = `\` + strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(name)
			}
			got, err := c.sum(name, bits)
			if err != nil {
				if c.ignoreMissing && errors.Is(err, vfs.ENOENT) {
					continue
				}
				p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
				unread++
				if !c.silent {
					p.Out.WriteString(shown + ": FAILED open or read\n")
				}
				continue
			}
			if got != want {
				mismatch++
				if !c.silent {
					p.Out.WriteString(shown + ": FAILED\n")
				}
				continue
			}
			matched++
			if !c.silent && !c.quiet {
				p.Out.WriteString(shown + ": OK\n")
			}
		}
		return l.Err
	})
	if err != nil {
		p.Errorf("%s: %s", program.QuoteColon(shownList), proc.Strerror(err))
		return false
	}
	if good == 0 {
		p.Errorf("%s: no properly formatted %s lines found", program.QuoteColon(shownList), proper)
		return false
	}
	if !c.silent {
		warn := func(n int, one, many string) {
			switch {
			case n == 1:
				p.Errorf("WARNING: 1 %s", one)
			case n > 1:
				p.Errorf("WARNING: %d %s", n, many)
			}
		}
		warn(bad, "line is improperly formatted", "lines are improperly formatted")
		warn(unread, "listed file could not be read", "listed files could not be read")
		warn(mismatch, "computed checksum did NOT match", "computed checksums did NOT match")
		if c.ignoreMissing && matched == 0 {
			p.Errorf("%s: no file was verified", program.QuoteColon(shownList))
		}
	}
	return mismatch == 0 && unread == 0 && (!c.strict || bad == 0) && (!c.ignoreMissing || matched > 0)
}
