package program

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// CopyTicking copies block by block, so that the exec's end is noticed.
func CopyTicking(p *proc.Process, dst io.Writer, src io.Reader) (int64, error) {
	return CopyThrough(p, make([]byte, 64<<10), dst, src, 6)
}

// CopyThrough copies block by block through buf; 1<<shift bytes are a tick.
func CopyThrough(p *proc.Process, buf []byte, dst io.Writer, src io.Reader, shift int) (int64, error) {
	total := int64(0)
	for {
		n, err := src.Read(buf)
		p.Tick(1 + n>>shift)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return total, werr
			}
			total += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// OrNumber is the name of an owner, or its number when there is no name.
func OrNumber(name string, id uint32) string {
	if name == "" {
		return strconv.FormatUint(uint64(id), 10)
	}
	return name
}

// GlobMatches reports whether a name matches a glob as GNU's exclude matching does: any trailing
// part of it that begins after a slash.
func GlobMatches(p *proc.Process, glob, name string) bool {
	for rest := name; ; {
		if Fnmatch(p, glob, rest, false) {
			return true
		}
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return false
		}
		rest = after
	}
}

// SeekBack gives back n bytes that were read ahead, where the input can be sought.
func SeekBack(r io.Reader, n int) {
	if s, ok := r.(io.Seeker); ok {
		_, _ = s.Seek(int64(-n), io.SeekCurrent)
	}
}

// Self is the account of the user that runs the process.
func Self(p *proc.Process) Account { return Account{p.User.Name, p.User.UID, p.User.GID} }

// NoOperand complains of the operands beyond those allowed, and ends the process, when there are any.
func NoOperand(p *proc.Process, s *getopt.Spec, args []string, allowed int) {
	if len(args) > allowed {
		s.Fail(p, "extra operand %s", Quote(args[allowed]))
	}
}

// RandomName is n characters from the alphabet of mkstemp.
func RandomName(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

// MaxTreeDepth bounds recursion into directories: a path has at most 4096 bytes.
const MaxTreeDepth = 4096

// IsRegular reports whether an open file is a regular one.
func IsRegular(f vfs.File) bool {
	st, err := f.Stat()
	return err == nil && st.Kind == vfs.Regular
}

// FilesFrom reads a list of NUL-terminated names.
func FilesFrom(p *proc.Process, name string, show func(string) string, message string) ([]string, bool) {
	r, err := p.OpenInput(name)
	if err != nil {
		p.Errorf(message, show(name), proc.Strerror(err))
		return nil, false
	}
	defer r.Close()
	data, err := p.ReadAll(r)
	if err != nil {
		p.Errorf("%s: read error: %s", QuoteColon(name), proc.Strerror(err))
		return nil, false
	}
	if len(data) == 0 {
		return nil, true
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), true
}

// fields of a database of lines: blanks or colons apart, comments gone.
func DatabaseLines(p *proc.Process, path string, f func(line string)) bool {
	data, err := p.FS.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		p.Tick(1)
		f(strings.TrimSuffix(line, "\n"))
	}
	return true
}

// OpenPlain opens an operand and decompresses it when it is compressed.
func OpenPlain(p *proc.Process, name string) (io.ReadCloser, error) {
	in, err := p.OpenInput(name)
	if err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(in, 64<<10)
	head, err := br.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, in.Close())
	}
	z, err := archive.NewReader(archive.Detect(head), br, p)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return &PlainReader{z, in}, nil
}

// PlainReader closes the file with the decoder.
type PlainReader struct {
	io.ReadCloser
	file io.Closer
}

// Close closes both the decompressor and the file.
func (r *PlainReader) Close() error { return errors.Join(r.ReadCloser.Close(), r.file.Close()) }
