package sum

import (
	"context"
	"crypto/sha512"
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var shasumSpec = getopt.New("a:bcthqsvwU0",
	"algorithm:=a binary=b check=c text=t help=h ignore-missing=i quiet=q status=s strict=S tag=T version=v warn=w UNIVERSAL=U 01=0").
	WithUsage("[OPTION]... [FILE]...", "Print or check SHA checksums.")

var shasumDigests = map[string]algorithm{
	"1": sha1Digest, "224": sha224Digest, "256": sha256Digest, "384": sha384Digest, "512": sha512Digest,
	"512224": {"SHA512/224", 224, fixed(sha512.New512_224)}, "512256": {"SHA512/256", 256, fixed(sha512.New512_256)},
}

// shasum is Perl's front to the SHA checksums.
func shasum(_ context.Context, p *proc.Process) int {
	opts, args, err := shasumSpec.Scan(p.Args[1:])
	hint := func() int {
		p.Err.WriteString("Type shasum -h for help\n")
		return 1
	}
	if err != nil {
		fmt.Fprintln(p.Err, err)
		return hint()
	}
	algorithm, check := "", false
	c := &checksumRun{p: p, kind: "SHA"}
	for _, o := range opts {
		switch o.Key {
		case "a":
			algorithm = o.Value
		case "b":
			c.binary = true
		case "t":
			c.binary = false
		case "c":
			check = true
		case "T":
			c.tagged = true
		case "i":
			c.ignoreMissing = true
		case "q":
			c.quiet = true
		case "s":
			c.silent = true
		case "S":
			c.strict = true
		case "w":
			c.warn = true
		case "v":
			p.Out.WriteString("6.02\n")
			return 0
		case "h":
			p.Out.WriteString("Usage: shasum [OPTION]... [FILE]...\nPrint or check SHA checksums.\n")
			return 0
		case "U", "0":
			p.Errorf("-%s is not supported", o.Key)
			return 1
		}
	}
	if algorithm == "" {
		algorithm = "1"
		c.byLength = check
	}
	d, ok := shasumDigests[algorithm]
	if !ok {
		p.Errorf("Unrecognized algorithm")
		return hint()
	}
	c.algorithm = d
	return c.files(args, check)
}
