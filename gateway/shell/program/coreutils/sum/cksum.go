package sum

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var (
	cksumSpec = getopt.New("a:cl:wz",
		"algorithm:=a check=c debug ignore-missing length:=l quiet status strict tag untagged warn=w zero=z").
		WithUsage("[OPTION]... [FILE]...", "Print or verify checksums.  By default use the 32 bit CRC algorithm.")
	sumSpec = getopt.New("rs", "sysv=s").WithUsage("[OPTION]... [FILE]...", "Print or check BSD (16-bit) checksums.")
)

// digests are the algorithms of cksum that checksum files can hold.
var digests = map[string]algorithm{
	"md5": md5Digest, "sha1": sha1Digest, "sha224": sha224Digest, "sha256": sha256Digest, "sha384": sha384Digest,
	"sha512":  sha512Digest,
	"blake2b": blakeDigest, "sm3": sm3Digest,
}

func digestByTag(tag string) (algorithm, bool) {
	for _, d := range digests {
		if d.tag == tag {
			return d, true
		}
	}
	return algorithm{}, false
}

func cksum(_ context.Context, p *proc.Process) int {
	opts, args := cksumSpec.Parse(p)
	c := &checksumRun{p: p, tagged: true}
	algorithm, check, hasAlgorithm, length, checkOnly := "crc", false, false, "", ""
	for _, o := range opts {
		switch o.Key {
		case "a":
			algorithm, hasAlgorithm = program.Choose(p, cksumSpec, "algorithm", o.Value, "bsd", "sysv", "crc", "md5", "sha1",
				"sha224", "sha256", "sha384", "sha512", "blake2b", "sm3"), true
		case "c":
			check = true
		case "l":
			length = o.Value
		case "tag":
			c.tagged = true
		case "untagged":
			c.tagged = false
		case "debug": // says which instructions of the processor are used
		case "z":
			c.zero = true
		default:
			checkOnly = c.checking(o.Key)
		}
	}
	n := 0
	if length != "" {
		n = digestLength(p, length)
		if algorithm != "blake2b" {
			p.Errorf("--length is only supported with --algorithm=blake2b")
			return 1
		}
	}
	d, hashed := digests[algorithm]
	switch {
	case check && hasAlgorithm && !hashed:
		p.Errorf("--check is not supported with --algorithm={bsd,sysv,crc}")
		return 1
	case c.zero && check:
		cksumSpec.Fail(p, "the --zero option is not supported when verifying checksums")
	case checkOnly != "" && !check:
		cksumSpec.Fail(p, "the --%s option is meaningful only when verifying checksums", checkOnly)
	}
	if !hashed && !check {
		return sums(p, algorithm, args, c.zero)
	}
	c.algorithm, c.auto = d, !hashed
	if c.auto {
		c.algorithm.tag = "CRC"
	}
	if n > 0 {
		c.bits = n
	}
	return c.files(args, check)
}

func sumCommand(_ context.Context, p *proc.Process) int {
	opts, args := sumSpec.Parse(p)
	algorithm := "bsd"
	for _, o := range opts {
		algorithm = map[string]string{"r": "bsd", "s": "sysv"}[o.Key]
	}
	return sums(p, algorithm, args, false)
}

// sums prints the checksums that are numbers: crc, bsd and sysv.
func sums(p *proc.Process, algorithm string, args []string, zero bool) int {
	status, names, end := 0, args, "\n"
	if zero {
		end = "\x00"
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		text, err := numberSum(p, algorithm, name)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			status = 1
			continue
		}
		if len(args) > 0 {
			text += " " + name
		}
		p.Out.WriteString(text + end)
	}
	return status
}

func numberSum(p *proc.Process, algorithm, name string) (string, error) {
	var sum uint32
	var size uint64
	err := program.WithInput(p, name, func(_ string, r io.Reader) error {
		return program.ReadBlocks(p, r, func(b []byte) {
			size += uint64(len(b))
			switch algorithm {
			case "crc":
				sum = crcUpdate(sum, b)
			case "sysv":
				for _, c := range b {
					sum += uint32(c)
				}
			default:
				for _, c := range b {
					sum = (sum>>1 | sum&1<<15) + uint32(c)&0xffff
					sum &= 0xffff
				}
			}
		})
	})
	if algorithm == "crc" && errors.Is(err, vfs.EISDIR) {
		// The real tool takes a directory for an empty file here.
		err = nil
	}
	if err != nil {
		return "", err
	}
	switch algorithm {
	case "crc":
		for n := size; n > 0; n >>= 8 {
			sum = crcUpdate(sum, []byte{byte(n)})
		}
		return fmt.Sprintf("%d %d", ^sum, size), nil
	case "sysv":
		sum = sum&0xffff + sum>>16
		sum = sum&0xffff + sum>>16
		return fmt.Sprintf("%d %d", sum, (size+511)/512), nil
	}
	return fmt.Sprintf("%05d %5d", sum, (size+1023)/1024), nil
}

// crcTables are for eight bytes at a time of the CRC of POSIX cksum.
var crcTables = func() (t [8][256]uint32) {
	for i := range t[0] {
		c := uint32(i) << 24
		for range 8 {
			carry := c >> 31
			c = c<<1 ^ carry*0x04c11db7
		}
		t[0][i] = c
	}
	for i := range t[0] {
		for k := 1; k < 8; k++ {
			t[k][i] = t[k-1][i]<<8 ^ t[0][t[k-1][i]>>24]
		}
	}
	return t
}()

func crcUpdate(crc uint32, b []byte) uint32 {
	t := &crcTables
	for len(b) >= 8 {
		crc ^= uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		crc = t[7][crc>>24] ^ t[6][crc>>16&255] ^ t[5][crc>>8&255] ^ t[4][crc&255] ^
			t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
		b = b[8:]
	}
	for _, c := range b {
		crc = crc<<8 ^ t[0][byte(crc>>24)^c]
	}
	return crc
}
