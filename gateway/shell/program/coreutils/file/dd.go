package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var ddSpec = getopt.New("", "").WithUsage("[OPERAND]...\n  or:  dd OPTION",
	"Copy a file, converting and formatting according to the operands.")

// ddMaxBlock bounds the two buffers.
const ddMaxBlock = 256 << 20

var (
	ddConversions = []string{"ascii", "ebcdic", "ibm", "block", "unblock", "lcase", "ucase", "sparse", "swab", "noerror",
		"nocreat", "excl", "notrunc", "sync", "fdatasync", "fsync"}
	ddFlags = []string{"append", "binary", "cio", "direct", "directory", "dsync", "noatime", "nocache", "noctty",
		"nofollow", "nolinks", "nonblock", "sync", "text", "fullblock", "count_bytes", "skip_bytes", "seek_bytes"}
)

type ddRun struct {
	p                     *proc.Process
	inName, outName       string
	ibs, obs, cbs         int64
	count, skip, seek     int64
	countBytes, skipBytes bool
	seekBytes             bool
	conv, iflag, oflag    []string
	status                string
	in                    io.Reader
	out                   io.Writer
	fullIn, partIn        int64
	fullOut, partOut      int64
	truncated, written    int64
	buf                   []byte // output not yet a full block
	column                int64  // of conv=block and unblock
	spaces                int64
	translate             *[256]byte // nil when characters stay as they are
	newline, blank        byte       // of the output's character set
	odd                   []byte     // the byte that conv=swab holds back
	direct                bool       // blocks go out as they come in
	failed                bool
}

// ddNumber reads a number with units, and products of them with x. inBytes: it ends in B.
func ddNumber(s string) (n int64, inBytes, ok bool) {
	total := big.NewInt(1)
	if strings.Count(s, "x") > 1 {
		return 0, false, false
	}
	for part := range strings.SplitSeq(s, "x") {
		part = strings.TrimLeft(part, " \t\n\v\f\r") // as strtoumax does
		k := 0
		for k < len(part) && program.IsDigit(part[k]) {
			k++
		}
		if k == 0 || k > 40 {
			return 0, false, false
		}
		v, _ := new(big.Int).SetString(part[:k], 10)
		if unit := part[k:]; unit == "B" {
			inBytes = true
		} else if unit != "" {
			m, rest, good := program.Multiplier(unit, "bcwkKMGTPEZY")
			if rest == "B" {
				inBytes, rest = true, ""
			}
			if !good || rest != "" {
				return 0, false, false
			}
			v.Mul(v, m)
		}
		total.Mul(total, v)
	}
	if !total.IsInt64() {
		return math.MaxInt64, inBytes, true
	}
	return total.Int64(), inBytes, true
}

func dd(_ context.Context, p *proc.Process) int {
	_, args := ddSpec.Parse(p)
	d := &ddRun{p: p, ibs: 512, obs: 512, count: -1, newline: '\n', blank: ' '}
	if !d.operands(args) {
		return 1
	}
	start := p.Now()
	if !d.open() {
		return 1
	}
	d.position()
	err := d.copy()
	if err == nil {
		err = d.finish()
	}
	if c, ok := d.out.(io.Closer); ok && d.outName != "" {
		if cerr := c.Close(); err == nil && cerr != nil {
			err = &writeError{cerr}
		}
	}
	var w *writeError
	switch {
	case errors.As(err, &w):
		if errors.Is(w.err, vfs.EPIPE) {
			panic(proc.Death{Status: 141})
		}
		p.Errorf("error writing %s: %s", program.QuoteName(nameOrStream(d.outName, "standard output")), proc.Strerror(w.err))
		d.failed = true
	case err != nil:
		p.Errorf("error reading %s: %s", program.QuoteName(nameOrStream(d.inName, "standard input")), proc.Strerror(err))
		d.failed = true
	}
	d.report(p.Now().Sub(start).Seconds())
	if d.failed {
		return 1
	}
	return 0
}

func nameOrStream(name, stream string) string {
	if name == "" {
		return stream
	}
	return name
}

func (d *ddRun) operands(args []string) bool {
	p := d.p
	bs := int64(0)
	words := func(list *[]string, value, what string, known []string) {
		for w := range strings.SplitSeq(value, ",") {
			if !slices.Contains(known, w) {
				ddSpec.Fail(p, "invalid %s: %s", what, program.Quote(w))
			}
			*list = append(*list, w)
		}
	}
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			ddSpec.Fail(p, "unrecognized operand %s", program.Quote(a))
		}
		switch name {
		case "if":
			d.inName = value
			if value == "" {
				p.Errorf("failed to open %s: %s", program.QuoteName(value), vfs.ENOENT)
				return false
			}
			continue
		case "of":
			d.outName = value
			if value == "" {
				p.Errorf("failed to open %s: %s", program.QuoteName(value), vfs.ENOENT)
				return false
			}
			continue
		case "conv":
			words(&d.conv, value, "conversion", ddConversions)
			continue
		case "iflag":
			words(&d.iflag, value, "input flag", ddFlags)
			continue
		case "oflag":
			words(&d.oflag, value, "output flag", ddFlags)
			continue
		case "status":
			if !slices.Contains([]string{"none", "noxfer", "progress"}, value) {
				ddSpec.Fail(p, "invalid status level: %s", program.Quote(value))
			}
			d.status = value
			continue
		}
		n, inBytes, good := ddNumber(value)
		if n == 0 && strings.HasPrefix(value, "0x") {
			p.Errorf("warning: %s is a zero multiplier; use %s if that is intended", program.Quote("0x"), program.Quote("00x"))
		}
		low, high := int64(0), int64(math.MaxInt64)
		switch name {
		case "bs", "ibs", "obs", "cbs":
			low, high = 1, ddMaxBlock
		case "count", "skip", "iseek", "seek", "oseek":
		default:
			ddSpec.Fail(p, "unrecognized operand %s", program.Quote(a))
		}
		switch {
		case !good || n < low:
			p.Errorf("invalid number: %s", program.Quote(value))
			return false
		case n == math.MaxInt64 || n > high:
			p.Errorf("invalid number: %s: Value too large for defined data type", program.Quote(value))
			return false
		}
		switch name {
		case "bs":
			bs = n
		case "ibs":
			d.ibs = n
		case "obs":
			d.obs = n
		case "cbs":
			d.cbs = n
		case "count":
			d.count, d.countBytes = n, inBytes
		case "skip", "iseek":
			d.skip, d.skipBytes = n, inBytes
		case "seek", "oseek":
			d.seek, d.seekBytes = n, inBytes
		}
	}
	if bs > 0 {
		d.ibs, d.obs = bs, bs
	}
	d.countBytes = d.countBytes || slices.Contains(d.iflag, "count_bytes")
	d.skipBytes = d.skipBytes || slices.Contains(d.iflag, "skip_bytes")
	d.seekBytes = d.seekBytes || slices.Contains(d.oflag, "seek_bytes")
	both := func(a, b string) bool {
		if d.has(a) && d.has(b) {
			p.Errorf("cannot combine %s and %s", a, b)
			return true
		}
		return false
	}
	if d.has("ascii") && (d.has("ebcdic") || d.has("ibm")) || d.has("ebcdic") && d.has("ibm") {
		p.Errorf("cannot combine any two of {ascii,ebcdic,ibm}")
		return false
	}
	// A character set of cards comes with their records.
	if d.has("ascii") {
		d.conv = append(d.conv, "unblock")
	}
	if d.has("ebcdic") || d.has("ibm") {
		d.conv = append(d.conv, "block")
	}
	if both("block", "unblock") || both("lcase", "ucase") || both("excl", "nocreat") {
		return false
	}
	if d.cbs == 0 {
		d.conv = slices.DeleteFunc(d.conv, func(c string) bool { return c == "block" || c == "unblock" })
	}
	d.setTranslation()
	d.direct = bs > 0 && !d.has("block") && !d.has("unblock") && !d.has("sync") && !d.has("swab") && d.translate == nil
	return true
}

// setTranslation makes one table of the character sets and the case.
func (d *ddRun) setTranslation() {
	var t [256]byte
	for i := range t {
		c := byte(i)
		if d.has("ascii") {
			c = program.EbcdicToASCII[c]
		}
		switch {
		case d.has("ucase") && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case d.has("lcase") && c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		switch {
		case d.has("ebcdic"):
			c = program.AsciiToEBCDIC[c]
		case d.has("ibm"):
			c = program.AsciiToIBM[c]
		}
		t[i] = c
	}
	switch {
	case d.has("ebcdic"):
		d.newline, d.blank = program.AsciiToEBCDIC['\n'], program.AsciiToEBCDIC[' ']
	case d.has("ibm"):
		d.newline, d.blank = program.AsciiToIBM['\n'], program.AsciiToIBM[' ']
	case !d.has("ascii") && !d.has("ucase") && !d.has("lcase"):
		return
	}
	d.translate = &t
}

func (d *ddRun) has(conv string) bool { return slices.Contains(d.conv, conv) }

func (d *ddRun) open() bool {
	p := d.p
	d.in, d.out = p.Stdin, p.Stdout
	if d.inName != "" {
		f, err := p.Open(d.inName, vfs.ReadOnly, 0)
		if err != nil {
			p.Errorf("failed to open %s: %s", program.QuoteName(d.inName), proc.Strerror(err))
			return false
		}
		d.in = f
	}
	if d.outName == "" {
		return true
	}
	flag := vfs.WriteOnly
	if !d.has("nocreat") {
		flag |= vfs.Create
	}
	if d.has("excl") {
		flag |= vfs.Excl
	}
	if slices.Contains(d.oflag, "append") {
		flag |= vfs.Append
	}
	if d.seek == 0 && !d.has("notrunc") {
		flag |= vfs.Trunc
	}
	f, err := p.Open(d.outName, flag, 0o666)
	if err != nil {
		p.Errorf("failed to open %s: %s", program.QuoteName(d.outName), proc.Strerror(err))
		return false
	}
	d.out = f
	return true
}

// cannotSkip says that the input ends before the place to begin at.
func (d *ddRun) cannotSkip() {
	if d.status != "none" {
		d.p.Errorf("%s: cannot skip to specified offset", program.QuoteColon(nameOrStream(d.inName, "standard input")))
	}
}

// position skips in the input and seeks in the output.
func (d *ddRun) position() {
	p := d.p
	if n := d.skip; n > 0 {
		if !d.skipBytes {
			n = times(n, d.ibs)
		}
		done := false
		if f, ok := d.in.(vfs.File); ok && program.IsRegular(f) {
			if at, err := f.Seek(0, io.SeekCurrent); err == nil {
				st, _ := f.Stat() // isRegular has just got it
				if n > st.Size-at {
					d.cannotSkip()
					n = max(st.Size-at, 0)
				}
				_, err = f.Seek(at+n, io.SeekStart)
				done = err == nil
			}
		}
		if !done {
			left := n
			buf := make([]byte, min(d.ibs, program.BufferSize))
			for left > 0 {
				k, err := d.in.Read(buf[:min(left, int64(len(buf)))])
				p.Tick(1 + k>>10)
				left -= int64(k)
				if err != nil {
					break
				}
			}
			if left > 0 {
				d.cannotSkip()
			}
		}
	}
	n := d.seek
	if n == 0 {
		return
	}
	if !d.seekBytes {
		n = times(n, d.obs)
	}
	f, ok := d.out.(vfs.File)
	var err error = vfs.ESPIPE
	if ok {
		if d.outName != "" && !d.has("notrunc") && program.IsRegular(f) {
			if err = f.Truncate(n); err != nil {
				p.Errorf("failed to truncate to %d bytes in output file %s: %s", n, program.QuoteName(d.outName),
					proc.Strerror(err))
				p.Exit(1)
			}
		}
		_, err = f.Seek(n, io.SeekCurrent)
	}
	if err != nil {
		p.Errorf("%s: cannot seek: %s", program.QuoteName(nameOrStream(d.outName, "standard output")), proc.Strerror(err))
		p.Exit(1)
	}
}

func times(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

func (d *ddRun) copy() error {
	p := d.p
	p.Hold(int(d.ibs + d.obs))
	defer p.Release(int(d.ibs + d.obs))
	block := make([]byte, d.ibs)
	full := slices.Contains(d.iflag, "fullblock")
	taken := int64(0)
	for {
		b := block
		switch {
		case d.count < 0:
		case d.countBytes:
			b = b[:min(int64(len(b)), d.count-taken)]
		case d.fullIn+d.partIn >= d.count:
			b = nil
		}
		if len(b) == 0 {
			return nil
		}
		n, err := d.in.Read(b)
		for full && n < len(b) && err == nil {
			var k int
			k, err = d.in.Read(b[n:])
			n += k
		}
		p.Tick(1 + n>>10)
		taken += int64(n)
		if n > 0 {
			if n == len(block) {
				d.fullIn++
			} else {
				d.partIn++
			}
			b = b[:n]
			if d.has("sync") && n < len(block) {
				fill := byte(0)
				if d.has("block") || d.has("unblock") {
					fill = ' '
				}
				b = block
				for i := n; i < len(b); i++ {
					b[i] = fill
				}
			}
			if d.translate != nil {
				for i := range b {
					b[i] = d.translate[b[i]]
				}
			}
			if werr := d.put(b); werr != nil {
				return &writeError{werr}
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// put takes a converted block to the output.
func (d *ddRun) put(b []byte) error {
	if d.has("swab") {
		b = append(d.odd, b...)
		n := len(b) &^ 1
		for i := 0; i < n; i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
		d.odd = bytes.Clone(b[n:])
		b = b[:n]
	}
	switch {
	case d.direct:
		return d.write(b)
	case d.has("block"):
		for _, c := range b {
			if c == d.newline {
				if err := d.fill(); err != nil {
					return err
				}
				d.column = 0
				continue
			}
			if d.column == d.cbs {
				d.truncated++
			} else if d.column < d.cbs {
				if err := d.add([]byte{c}); err != nil {
					return err
				}
			}
			d.column++
		}
		return nil
	case d.has("unblock"):
		for _, c := range b {
			if d.column == d.cbs {
				d.column, d.spaces = 0, 0
				if err := d.add([]byte{'\n'}); err != nil {
					return err
				}
			}
			d.column++
			if c == ' ' {
				d.spaces++
				continue
			}
			if err := d.pad(d.spaces); err != nil {
				return err
			}
			d.spaces = 0
			if err := d.add([]byte{c}); err != nil {
				return err
			}
		}
		return nil
	}
	return d.add(b)
}

// fill ends a record of conv=block.
func (d *ddRun) fill() error { return d.pad(d.cbs - d.column) }

func (d *ddRun) pad(n int64) error {
	fill := bytes.Repeat([]byte{d.blank}, int(max(0, min(n, int64(len(program.Blanks))))))
	for n > 0 {
		k := min(n, int64(len(fill)))
		if err := d.add(fill[:k]); err != nil {
			return err
		}
		d.p.Tick(1)
		n -= k
	}
	return nil
}

// add collects output into blocks.
func (d *ddRun) add(b []byte) error {
	for len(b) > 0 {
		if len(d.buf) == 0 && int64(len(b)) >= d.obs {
			if err := d.write(b[:d.obs]); err != nil {
				return err
			}
			b = b[d.obs:]
			continue
		}
		k := min(int64(len(b)), d.obs-int64(len(d.buf)))
		d.buf = append(d.buf, b[:k]...)
		b = b[k:]
		if int64(len(d.buf)) == d.obs {
			if err := d.write(d.buf); err != nil {
				return err
			}
			d.buf = d.buf[:0]
		}
	}
	return nil
}

func (d *ddRun) write(b []byte) error {
	n, err := d.out.Write(b)
	d.written += int64(max(n, 0))
	if err != nil {
		return err
	}
	if int64(len(b)) == d.obs {
		d.fullOut++
	} else {
		d.partOut++
	}
	return nil
}

func (d *ddRun) finish() error {
	if len(d.odd) > 0 {
		if err := d.add(d.odd); err != nil {
			return &writeError{err}
		}
	}
	if d.has("block") && d.column > 0 {
		if err := d.fill(); err != nil {
			return &writeError{err}
		}
	}
	if d.has("unblock") && d.column > 0 {
		if err := d.add([]byte{'\n'}); err != nil {
			return &writeError{err}
		}
	}
	if len(d.buf) > 0 {
		if err := d.write(d.buf); err != nil {
			return &writeError{err}
		}
	}
	return nil
}

// report is the statistics on stderr.
func (d *ddRun) report(seconds float64) {
	if d.status == "none" {
		return
	}
	d.p.Out.Flush()
	w := d.p.Err
	fmt.Fprintf(w, "%d+%d records in\n%d+%d records out\n", d.fullIn, d.partIn, d.fullOut, d.partOut)
	if d.truncated > 0 {
		fmt.Fprintf(w, "%d truncated record%s\n", d.truncated, map[bool]string{true: "", false: "s"}[d.truncated == 1])
	}
	if d.status == "noxfer" {
		return
	}
	size := fmt.Sprintf("%d bytes", d.written)
	if d.written == 1 {
		size = "1 byte"
	}
	switch {
	case d.written >= 1024:
		size += " (" + ddSize(float64(d.written), 1000) + ", " + ddSize(float64(d.written), 1024) + ")"
	case d.written >= 1000:
		size += " (" + ddSize(float64(d.written), 1000) + ")"
	}
	rate := "Infinity B"
	if seconds > 0 {
		rate = ddSize(float64(d.written)/seconds, 1000)
		if d.written == 0 {
			rate = "0.0 kB"
		}
	}
	fmt.Fprintf(w, "%s copied, %s s, %s/s\n", size, program.CFloat('g', seconds, 6, false), rate)
}

// ddSize is a number of bytes to the nearest, with one decimal below ten.
func ddSize(v, base float64) string {
	units, tail := "kMGTPE", "B"
	if base == 1024 {
		units, tail = "KMGTPE", "iB"
	}
	if v < base {
		return fmt.Sprintf("%.0f B", v)
	}
	k := -1
	for v >= base && k < len(units)-1 {
		v /= base
		k++
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %c%s", v, units[k], tail)
	}
	return fmt.Sprintf("%.0f %c%s", v, units[k], tail)
}
