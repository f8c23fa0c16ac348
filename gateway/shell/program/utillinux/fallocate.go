package utillinux

import (
	"context"
	"errors"
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var fallocateSpec = getopt.New("cdil:no:pvxz",
	"collapse-range=c dig-holes=d insert-range=i length:=l keep-size=n offset:=o punch-hole=p verbose=v posix=x zero-range=z").
	WithLetters().WithVersion("from util-linux 2.38.1").WithUsage("[options] <filename>",
	"Preallocate space to, or deallocate space from a file.")

func fallocate(_ context.Context, p *proc.Process) int {
	opts, args := fallocateSpec.Parse(p)
	length, offset := int64(-1), int64(0)
	keep, verbose, other := false, false, ""
	for _, o := range opts {
		switch o.Key {
		case "l", "o":
			n, problem := program.ParseCount(o.Value, "KkMmGTPEZY")
			if problem != program.NumberOK || o.Key == "l" && n == 0 {
				p.Errorf("invalid %s value specified", map[string]string{"l": "length", "o": "offset"}[o.Key])
				return 1
			}
			if o.Key == "l" {
				length = n
			} else {
				offset = n
			}
		case "n":
			keep = true
		case "v":
			verbose = true
		case "x":
		default:
			other = o.Key
		}
	}
	switch {
	case len(args) == 0:
		p.Errorf("no filename specified")
		return 1
	case length < 0 && other != "d":
		p.Errorf("no length argument specified")
		return 1
	case len(args) > 1:
		p.Errorf("unexpected number of arguments")
		return 1
	}
	flag := vfs.ReadWrite
	if !keep && other == "" {
		flag |= vfs.Create
	}
	f, err := p.Open(args[0], flag, 0o644)
	if err != nil {
		p.Errorf("cannot open %s: %s", args[0], proc.Strerror(err))
		return 1
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
	case other == "p" || other == "z":
		// What reads as zeros is a hole already.
		zeros := make([]byte, program.BufferSize)
		end := offset + length
		if other == "p" {
			end = min(end, st.Size)
		}
		for at := offset; at < end && err == nil; {
			p.Tick(1)
			n := min(int64(len(zeros)), end-at)
			_, err = f.WriteAt(zeros[:n], at)
			at += n
		}
	case other == "c" || other == "i":
		err = vfs.EOPNOTSUPP
	case other == "" && !keep && offset+length > st.Size:
		err = f.Truncate(offset + length)
	}
	if err != nil {
		if errors.Is(err, vfs.EOPNOTSUPP) {
			p.Errorf("fallocate failed: %s", proc.Strerror(err))
		} else {
			p.Errorf("%s: %s", args[0], proc.Strerror(err))
		}
		return 1
	}
	if verbose && other == "" {
		fmt.Fprintf(p.Out, "%s: %s (%d bytes) allocated.\n", args[0], fallocateSize(length), length)
	}
	return 0
}

// fallocateSize is a size with one digit after the point, none when that is 0.
func fallocateSize(n int64) string {
	const units = "BKMGTPE"
	v, unit := float64(n), 0
	for v >= 1024 && unit < len(units)-1 {
		v /= 1024
		unit++
	}
	suffix := " B"
	if unit > 0 {
		suffix = " " + units[unit:unit+1] + "iB"
	}
	if s := fmt.Sprintf("%.1f", v); s[len(s)-2:] != ".0" {
		return s + suffix
	}
	return fmt.Sprintf("%.0f", v) + suffix
}
